"""A fake server, and clients that are closed."""

from collections.abc import AsyncIterator

import pytest

from storage.redis import RedisClient
from storage.redis.address import parse_redis_url
from tests.unit.storage.redis.parts import FakeServer


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    fake = FakeServer()
    await fake.start()
    yield fake
    await fake.stop()


@pytest.fixture
async def client(server: FakeServer) -> AsyncIterator[RedisClient]:
    """Patient enough for a busy machine; probes often."""
    made = RedisClient(parse_redis_url(f"redis://127.0.0.1:{server.port}"), limit=0.2, probe_seconds=0.05)
    yield made
    await made.close()
