"""Redis that is slow, paused, killed, read-only or full: nobody gets another's value, and all comes back by itself."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial

import pytest

from assemblers.records import SessionRef, Slots
from benchmarks.faults.proxy import Address, Proxy
from benchmarks.faults.toxics import CLEAR, RESET, SILENT, slow
from scripts.servers.temporary import temporary_valkey
from scripts.servers.valkey import Valkey, ValkeyOptions
from storage.conformance.samples import NOW, SESSION, USER
from storage.epochs import Mark
from storage.errors import StorageFull, StorageUnavailable
from storage.ports import SessionState
from storage.ports.epochs import Epochs
from storage.redis import RedisClient, RedisEpochs, RedisSessions
from storage.redis.address import parse_redis_url
from tests.sealing import TestKeys

USERS = 40
CALLS = 2_500
"""Of the storm, of which about half are cancelled."""


@pytest.fixture
def valkey() -> Iterator[Valkey]:
    with temporary_valkey(ValkeyOptions()) as server:
        yield server


@pytest.fixture
async def client(valkey: Valkey) -> AsyncIterator[RedisClient]:
    """More patient than in service: the machine may be busy with other tests."""
    made = RedisClient(parse_redis_url(valkey.url()), limit=0.4, probe_seconds=0.2)
    await made.start()
    yield made
    await made.close()


@pytest.fixture
def sessions(client: RedisClient) -> RedisSessions:
    return RedisSessions(client, TestKeys())


def session_of(number: int) -> SessionRef:
    return SessionRef("acme", f"user-{number}", "s")


def value_of(number: int) -> Slots:
    return Slots(answer_format=f"value of user {number}")


async def settles(attempt: Callable[[], Awaitable[object]]) -> None:
    """Until the attempt succeeds."""
    async with asyncio.timeout(10):
        while True:
            try:
                await attempt()
            except StorageUnavailable:
                await asyncio.sleep(0.01)
            else:
                return


async def given_up(client: RedisClient) -> None:
    """Until the breaker is open."""
    async with asyncio.timeout(10):
        while client.is_available:  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(0.01)


async def test_a_storm_of_cancelled_calls_over_a_slow_connection_mixes_nothing_up(valkey: Valkey) -> None:
    """S1 and threat 16: a caller that went away must not leave its reply to the next one."""
    proxy = Proxy(Address("127.0.0.1", valkey.port))
    client = RedisClient(parse_redis_url(f"redis://127.0.0.1:{await proxy.start()}"), probe_seconds=0.05)
    sessions = RedisSessions(client, TestKeys())
    for number in range(USERS):
        await settles(partial(sessions.put, session_of(number), value_of(number), 0, NOW, 3600))
    chance = random.Random(20_230_320)
    answered = cancelled = unavailable = 0

    async def call(number: int) -> None:
        nonlocal answered, cancelled, unavailable
        reading = asyncio.create_task(sessions.get(session_of(number), NOW))
        await asyncio.sleep(chance.random() * 0.03)
        if chance.random() < 0.5:
            reading.cancel()
        try:
            state = await reading
        except asyncio.CancelledError:
            cancelled += 1
        except StorageUnavailable:
            unavailable += 1
        else:
            assert state == SessionState(value_of(number), 1)
            answered += 1

    # Slow enough that some calls are too late, and now and then a connection breaks in the middle.
    conditions = [slow(5), slow(12), slow(24), RESET, slow(5), SILENT, CLEAR]
    for place in range(0, CALLS, 25):
        await proxy.apply(conditions[place // 25 % len(conditions)])
        await asyncio.gather(*(call(chance.randrange(USERS)) for _ in range(25)))
    assert min(answered, cancelled, unavailable) > CALLS // 20
    assert sessions.unreadable == 0
    await client.close()
    await proxy.close()


async def test_a_killed_redis_is_found_again_without_a_restart_of_ours(
    valkey: Valkey, client: RedisClient, sessions: RedisSessions
) -> None:
    """P85."""
    stop = asyncio.Event()
    outcomes: list[str] = []

    async def traffic(number: int) -> None:
        while not stop.is_set():
            try:
                await sessions.get(session_of(number), NOW)
                outcomes.append("ok")
            except StorageUnavailable:
                outcomes.append("unavailable")
            await asyncio.sleep(0.005)

    load = [asyncio.create_task(traffic(number)) for number in range(8)]
    await settles(lambda: sessions.get(SESSION, NOW))
    valkey.kill()
    await given_up(client)
    outcomes.clear()
    await asyncio.sleep(0.3)
    assert set(outcomes) == {"unavailable"}
    await asyncio.to_thread(valkey.restart)
    await settles(lambda: sessions.get(SESSION, NOW))
    assert client.is_available
    outcomes.clear()
    await asyncio.sleep(0.3)
    assert set(outcomes) == {"ok"}
    stop.set()
    await asyncio.gather(*load)


async def test_a_paused_redis_is_given_up_and_found_again(
    valkey: Valkey, client: RedisClient, sessions: RedisSessions
) -> None:
    await settles(lambda: sessions.put(SESSION, Slots(), 0, NOW, 3600))
    valkey.pause()
    for _ in range(5):
        with pytest.raises(StorageUnavailable):
            await sessions.get(SESSION, NOW)
    await given_up(client)
    valkey.resume()
    await settles(lambda: sessions.get(SESSION, NOW))
    assert client.is_available


async def test_a_write_that_redis_did_after_we_gave_it_up_loses_nothing(
    valkey: Valkey, sessions: RedisSessions
) -> None:
    """A put that timed out may have been done: then the next one of the same revision is refused, and a read tells."""
    await settles(lambda: sessions.put(SESSION, Slots(answer_format="a"), 0, NOW, 3600))
    valkey.pause()
    with pytest.raises(StorageUnavailable):
        await sessions.put(SESSION, Slots(answer_format="b"), 1, NOW, 3600)
    valkey.resume()
    state: SessionState | None = None

    async def read() -> None:
        nonlocal state
        state = await sessions.get(SESSION, NOW)

    await settles(read)
    assert state is not None
    assert await sessions.put(SESSION, Slots(answer_format="c"), state.revision, NOW, 3600)


async def test_epochs_that_reach_redis_a_second_late_are_not_taken(
    valkey: Valkey, client: RedisClient
) -> None:
    """What SQL said before the pause must not count as fresh after it."""
    shared = RedisEpochs(client)
    # Connects, and lets Redis know the script; a mark that old is refused.
    await settles(lambda: shared.fill(USER, Epochs(1, 1, 1), Mark(0, 0), keep_unknown=False))
    mark = (await shared.read(USER)).mark
    valkey.pause()
    with pytest.raises(StorageUnavailable):
        await shared.fill(USER, Epochs(1, 1, 1), mark, keep_unknown=False)
    await asyncio.sleep(1.1)
    valkey.resume()
    await settles(lambda: shared.read(USER))
    assert (await shared.read(USER)).epochs is None


async def test_a_read_only_redis_gives_what_it_has_and_refuses_writes(
    valkey: Valkey, client: RedisClient, sessions: RedisSessions
) -> None:
    await settles(lambda: sessions.put(SESSION, Slots(), 0, NOW, 3600))
    await asyncio.to_thread(valkey.set_read_only, read_only=True)
    assert await sessions.get(SESSION, NOW) == SessionState(Slots(), 1)
    for _ in range(10):
        with pytest.raises(StorageUnavailable):
            await sessions.put(SESSION, Slots(), 1, NOW, 3600)
    # It answers, so nobody else has to do without it.
    assert client.is_available
    await asyncio.to_thread(valkey.set_read_only, read_only=False)
    assert await sessions.put(SESSION, Slots(), 1, NOW, 3600)


async def test_a_full_redis_gives_what_it_has_and_says_that_it_is_full(
    valkey: Valkey, client: RedisClient, sessions: RedisSessions
) -> None:
    await settles(lambda: sessions.put(SESSION, Slots(), 0, NOW, 3600))
    await asyncio.to_thread(valkey.configure, "maxmemory", "1")
    assert await sessions.get(SESSION, NOW) == SessionState(Slots(), 1)
    with pytest.raises(StorageFull):
        await sessions.put(SESSION, Slots(), 1, NOW, 3600)
    assert client.is_available
    await sessions.drop(SESSION)
    await asyncio.to_thread(valkey.configure, "maxmemory", "0")
    assert await sessions.put(SESSION, Slots(), 0, NOW, 3600)
