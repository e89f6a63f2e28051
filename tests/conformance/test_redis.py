"""The adapters on Redis pass their suites: on Valkey, on an installed Redis, and on a cluster of three nodes."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from storage.conformance import Backend, IsolationSuite, SessionCacheSuite
from storage.conformance.shared_epochs import Pass, SharedEpochsSuite
from storage.epochs import SharedEpochs
from storage.ports import SessionCache, Storage
from storage.redis import RedisClient, RedisEpochs, RedisSessions, connect_redis
from storage.sqlite.factory import SqliteStorage
from tests.sealing import TestKeys


class OnServer:
    @pytest.fixture
    async def client(self, redis_url: str) -> AsyncIterator[RedisClient]:
        connected = await connect_redis(redis_url, limit=5)
        yield connected
        await connected.close()


class OnCluster:
    @pytest.fixture
    async def client(self, redis_cluster_url: str) -> AsyncIterator[RedisClient]:
        connected = await connect_redis(redis_cluster_url, limit=5)
        yield connected
        await connected.close()


@pytest.fixture
def sessions(client: RedisClient) -> SessionCache:
    return RedisSessions(client, TestKeys())


class TestSessions(OnServer, SessionCacheSuite): ...


class TestSessionsOnCluster(OnCluster, SessionCacheSuite): ...


class TestIsolation(OnServer, IsolationSuite):
    """The whole matrix, with slots in Redis beside an SQL store: under its keys, as in a gateway."""

    @pytest.fixture
    async def storage(self, backend: Backend, client: RedisClient) -> AsyncIterator[Storage]:
        opened = await backend.open()
        assert isinstance(opened, SqliteStorage)
        opened.sessions = RedisSessions(client, opened.keys)
        yield opened
        await opened.close()


class TestIsolationOnCluster(OnCluster, TestIsolation): ...


@pytest.fixture
def shared(client: RedisClient) -> SharedEpochs:
    return RedisEpochs(client)


@pytest.fixture
def pass_time() -> Pass:
    """The servers go by their own clocks."""
    return asyncio.sleep


class TestEpochs(OnServer, SharedEpochsSuite): ...


class TestEpochsOnCluster(OnCluster, SharedEpochsSuite): ...
