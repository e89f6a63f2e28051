"""Keys find their servers: in a cluster by its map, by what servers say of moved slots, and after a failover."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.crc import key_slot

from storage.errors import StorageUnavailable
from storage.redis import RedisClient, connect_redis
from storage.redis.address import Endpoint
from storage.redis.replies import Value
from storage.redis.topology import slot_ranges
from tests.unit.storage.redis.parts import Answer, Command, FakeServer, bulk, echo

LAST = 16_383


def slots_reply(*ranges: tuple[int, int, FakeServer]) -> bytes:
    """What CLUSTER SLOTS answers, with each server as the master of its range."""
    entries = [
        b"*3\r\n:%d\r\n:%d\r\n*2\r\n%b:%d\r\n" % (first, last, bulk(b"127.0.0.1"), server.port)
        for first, last, server in ranges
    ]
    return b"*%d\r\n" % len(ranges) + b"".join(entries)


class Halves:
    """A cluster of two servers, each with half of the slots; `swapped` exchanges them."""

    def __init__(self, low: FakeServer, high: FakeServer) -> None:
        self.low, self.high = low, high
        for server in (low, high):
            server.answer = self.answer

    def answer(self, command: Command) -> Answer:
        if command[0] == b"CLUSTER":
            return slots_reply((0, 8_191, self.low), (8_192, LAST, self.high))
        return echo(command)


@pytest.fixture
async def other() -> AsyncIterator[FakeServer]:
    fake = FakeServer()
    await fake.start()
    yield fake
    await fake.stop()


def key_in(low: bool) -> bytes:
    return next(key for key in (b"k%d" % n for n in range(100)) if (key_slot(key) < 8_192) == low)


async def connected(server: FakeServer, scheme: str = "redis+cluster") -> RedisClient:
    return await connect_redis(f"{scheme}://127.0.0.1:{server.port}", limit=5)


async def test_each_key_is_asked_for_at_its_master(server: FakeServer, other: FakeServer) -> None:
    Halves(server, other)
    client = await connected(server)
    for is_low, master in ((True, server), (False, other)):
        key = key_in(is_low)
        assert await client.execute(key, b"GET", key) == key
        assert master.asked(b"GET") == [(b"GET", key)]
    await client.close()


async def test_keys_of_several_masters_are_asked_for_at_once(server: FakeServer, other: FakeServer) -> None:
    Halves(server, other)
    client = await connected(server)
    keys = [key_in(low) for low in (True, False, True, False)]
    pending = [client.execute(key, b"GET", key) for key in keys]
    assert [await one for one in pending] == keys
    assert (len(server.asked(b"GET")), len(other.asked(b"GET"))) == (2, 2)
    await client.close()


async def test_a_single_server_that_answers_moved_is_a_cluster(server: FakeServer, other: FakeServer) -> None:
    halves = Halves(server, other)
    key = key_in(low=False)
    is_joined = False

    def answer(command: Command) -> Answer:
        if command[0] == b"CLUSTER" and not is_joined:
            return b"-ERR This instance has cluster support disabled\r\n"
        if command[0] == b"GET":
            return b"-MOVED %d 127.0.0.1:%d\r\n" % (key_slot(command[1]), other.port)
        return halves.answer(command)

    server.answer = answer
    client = await connected(server, "redis")
    is_joined = True
    assert await client.execute(key, b"GET", key) == key
    assert await client.execute(key, b"GET", key) == key
    assert len(server.asked(b"GET")) == 1
    await client.close()


async def test_one_node_of_a_cluster_is_enough_to_know_all_from_the_start(
    server: FakeServer, other: FakeServer
) -> None:
    Halves(server, other)
    client = await connected(server, "redis")
    key = key_in(low=False)
    assert await client.execute(key, b"GET", key) == key
    assert server.asked(b"GET") == []
    await client.close()


async def test_a_moved_that_names_no_host_means_the_one_that_said_it(
    server: FakeServer, other: FakeServer
) -> None:
    server.answer = lambda command: (
        b"-MOVED 1 :%d\r\n" % other.port if command[0] == b"GET" else echo(command)
    )
    client = await connected(server, "redis")
    assert await client.execute(b"k", b"GET", b"k") == b"k"
    await client.close()


async def test_a_redirection_is_followed_once(server: FakeServer, other: FakeServer) -> None:
    def answer(command: Command) -> Answer:
        return b"-MOVED 1 127.0.0.1:%d\r\n" % other.port if command[0] == b"GET" else echo(command)

    server.answer = other.answer = answer
    client = await connected(server, "redis")
    with pytest.raises(StorageUnavailable):
        await client.execute(b"k", b"GET", b"k")
    await client.close()


async def test_a_slot_under_migration_is_asked_for_with_asking(server: FakeServer, other: FakeServer) -> None:
    server.answer = lambda command: (
        b"-ASK 1 127.0.0.1:%d\r\n" % other.port if command[0] == b"GET" else echo(command)
    )
    client = await connected(server, "redis")
    for _ in range(2):
        assert await client.execute(b"k", b"GET", b"k") == b"k"
    relevant = [command for command in other.commands if command[0] in (b"ASKING", b"GET")]
    assert relevant == [(b"ASKING",), (b"GET", b"k")] * 2
    assert len(server.asked(b"GET")) == 2
    await client.close()


async def test_after_a_failover_the_new_master_is_found_without_a_restart(
    server: FakeServer, other: FakeServer
) -> None:
    """P85."""
    halves = Halves(server, other)
    client = await connected(server)
    key = key_in(low=False)
    assert await client.execute(key, b"GET", key) == key
    await other.stop()
    halves.high = server
    async with asyncio.timeout(5):
        while True:
            try:
                assert await client.execute(key, b"GET", key) == key
                break
            except StorageUnavailable:
                await asyncio.sleep(0.02)
    assert server.asked(b"GET") == [(b"GET", key)]
    await client.close()


async def test_a_start_works_with_one_node_of_several(server: FakeServer, other: FakeServer) -> None:
    Halves(server, server)
    await other.stop()
    client = await connect_redis(f"redis+cluster://127.0.0.1:{other.port},127.0.0.1:{server.port}", limit=5)
    assert await client.execute(b"k", b"GET", b"k") == b"k"
    await client.close()


async def test_slots_that_nobody_has_are_unavailable(server: FakeServer) -> None:
    def answer(command: Command) -> Answer:
        if command[0] == b"CLUSTER":
            return slots_reply((0, 1, server))
        return b"-CLUSTERDOWN Hash slot not served\r\n" if command[0] == b"GET" else echo(command)

    server.answer = answer
    client = await connected(server)
    with pytest.raises(StorageUnavailable):
        await client.execute(b"k", b"GET", b"k")
    await client.close()


async def test_until_the_map_is_known_any_server_says_who_has_a_key(
    server: FakeServer, other: FakeServer
) -> None:
    """The first MOVED tells that it is a cluster; the map comes a little later, and calls do not wait for it."""

    def answer(command: Command) -> Answer:
        if command[0] == b"CLUSTER":
            return None
        if command[0] == b"GET" and key_slot(command[1]) >= 8_192:
            return b"-MOVED %d 127.0.0.1:%d\r\n" % (key_slot(command[1]), other.port)
        return echo(command)

    server.answer = answer
    client = await connected(server, "redis")
    keys = [b"k%d" % number for number in range(40)]
    for key in keys:
        assert await client.execute(key, b"GET", key) == key
    assert len(other.asked(b"GET")) == sum(key_slot(key) >= 8_192 for key in keys)
    await client.close()


async def test_a_refused_map_leaves_the_known_one(server: FakeServer, other: FakeServer) -> None:
    Halves(server, other)
    client = await connected(server)
    server.answer = other.answer = lambda command: (
        b"-ERR no\r\n" if command[0] == b"CLUSTER" else b"-CLUSTERDOWN down\r\n"
    )
    with pytest.raises(StorageUnavailable):
        await client.execute(b"k", b"GET", b"k")
    await asyncio.sleep(0.05)
    server.answer = other.answer = echo
    assert await client.execute(b"k", b"GET", b"k") == b"k"
    await client.close()


def test_a_map_with_unknown_hosts_and_replicas_is_read() -> None:
    replica: Value = [b"10.0.0.9", 7000, b"id"]
    answer: Value = [
        [0, 100, [b"10.0.0.1", 7000, b"id", []], replica],
        [101, 200, [b"", 7001]],
        [201, 300, [None, 7002]],
        b"nonsense",
    ]
    assert slot_ranges(answer, Endpoint("asked", 1)) == [
        (0, 100, Endpoint("10.0.0.1", 7000)),
        (101, 200, Endpoint("asked", 7001)),
        (201, 300, Endpoint("asked", 7002)),
    ]
    assert slot_ranges(None, Endpoint("asked", 1)) == []
