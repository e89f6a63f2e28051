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


def made_for(server: FakeServer, limit: float) -> RedisClient:
    return RedisClient(parse_redis_url(f"redis://127.0.0.1:{server.port}"), limit=limit, probe_seconds=0.05)


@pytest.fixture
async def client(server: FakeServer) -> AsyncIterator[RedisClient]:
    """Patient enough for a busy machine; probes often."""
    made = made_for(server, 5)
    yield made
    await made.close()


@pytest.fixture
async def impatient(server: FakeServer) -> AsyncIterator[RedisClient]:
    """Gives up soon."""
    made = made_for(server, 0.1)
    yield made
    await made.close()
