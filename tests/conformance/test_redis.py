"""The adapters on Redis pass their suites: on Valkey, on an installed Redis, and on a cluster of three nodes."""

from collections.abc import AsyncIterator

import pytest

from storage.conformance import SessionCacheSuite
from storage.ports import SessionCache
from storage.redis import RedisClient, RedisSessions, connect_redis
from tests.sealing import TestKeys


class OnServer:
    @pytest.fixture
    async def client(self, redis_url: str) -> AsyncIterator[RedisClient]:
        connected = await connect_redis(redis_url)
        yield connected
        await connected.close()


class OnCluster:
    @pytest.fixture
    async def client(self, redis_cluster_url: str) -> AsyncIterator[RedisClient]:
        connected = await connect_redis(redis_cluster_url)
        yield connected
        await connected.close()


@pytest.fixture
def sessions(client: RedisClient) -> SessionCache:
    return RedisSessions(client, TestKeys())


class TestSessions(OnServer, SessionCacheSuite): ...


class TestSessionsOnCluster(OnCluster, SessionCacheSuite): ...
