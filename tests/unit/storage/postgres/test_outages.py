"""A server that stands still, dies or is gone: calls fail in time, and afterwards everything is as before."""

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import asyncpg
import pytest

from scripts.servers.postgres import Postgres
from scripts.servers.temporary import temporary_postgres
from storage.conformance.samples import NOW, SESSION, USER, fact, receipt, trace, turn
from storage.errors import StorageUnavailable
from storage.ledger import verify
from storage.postgres import PostgresStorage
from storage.postgres.address import parse_address
from storage.postgres.connections import Connections
from storage.postgres.database import PostgresDatabase, Timeouts
from storage.sql.engine import Connection, Scope
from tests.servers import PASSWORD
from tests.servers import PostgresDatabase as Place
from tests.servers import database as place_on

SIZE = 4
SHORT = Timeouts(read=0.3, load=0.3, write=0.3, heavy=0.3, append=0.3)
STORM = 200


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server of this module's own, since it is stopped and killed."""
    with temporary_postgres() as started:
        started.admin.create_roles(PASSWORD)
        yield started


@pytest.fixture(scope="module")
def place(server: Postgres) -> Iterator[Place]:
    with place_on(server.admin, "muniment_outages") as made:
        made.migrate()
        yield made


@pytest.fixture
async def connections(place: Place) -> AsyncIterator[Connections]:
    place.empty()
    opened = Connections(parse_address(place.url), SIZE)
    yield opened
    await opened.close()


@pytest.fixture
async def database(connections: Connections) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(connections, SHORT)
    yield opened
    await opened.close()


@pytest.fixture
async def storage(opener: Callable[[str], Awaitable[PostgresStorage]], place: Place) -> PostgresStorage:
    place.empty()
    return await opener(place.url)


@pytest.fixture(autouse=True)
async def nothing_is_lost() -> AsyncIterator[None]:
    """No error that nobody looked at, and no task that was dropped: the loop says so when they are collected."""
    said: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    yield
    gc.collect()
    await asyncio.sleep(0)
    assert said == []


def touch(connection: Connection) -> int:
    return connection.execute(
        "UPDATE users SET fact_no = fact_no + 1 WHERE tenant_id = ?", ("acme",)
    ).rowcount


async def answers(database: PostgresDatabase) -> None:
    """Everything works, on every connection of the pool."""
    reads = [database.row("acme", "SELECT 1 AS one", ()) for _ in range(4 * SIZE)]
    assert await asyncio.gather(*reads) == [(1,)] * (4 * SIZE)
    writes = [database.write(Scope("acme", b"lock"), touch) for _ in range(SIZE)]
    assert await asyncio.gather(*writes) == [0] * SIZE
    async with database.snapshot("acme") as snapshot:
        assert await snapshot.row("SELECT 1 AS one", ()) == (1,)


async def answers_soon(database: PostgresDatabase) -> None:
    """The pool learns of a connection that was closed under it once the loop has read so."""
    for _ in range(20):
        try:
            await answers(database)
        except StorageUnavailable:
            await asyncio.sleep(0.1)
        else:
            return
    await answers(database)


async def test_while_the_server_stands_still_every_call_fails_in_time(
    server: Postgres, database: PostgresDatabase
) -> None:
    await answers(database)
    server.pause()
    try:
        async with asyncio.timeout(10):
            for _ in range(2):
                reads = [database.row("acme", "SELECT 1 AS one", ()) for _ in range(3 * SIZE)]
                writes = [database.write(Scope("acme", b"lock"), touch) for _ in range(SIZE)]
                results = await asyncio.gather(*reads, *writes, return_exceptions=True)
                assert {type(result) for result in results} == {StorageUnavailable}
            with pytest.raises(StorageUnavailable):
                async with database.snapshot("acme") as snapshot:
                    await snapshot.row("SELECT 1 AS one", ())
            assert not await database.ready()
    finally:
        server.resume()
    await asyncio.sleep(1)
    assert await database.ready()
    await answers(database)


async def test_a_server_that_stands_still_is_not_asked_for_a_connection_by_every_call(
    server: Postgres, database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await answers(database)
    asked = 0
    connect = asyncpg.connect

    async def counted(**arguments: Any) -> asyncpg.Connection:
        nonlocal asked
        asked += 1
        return await connect(**arguments)

    monkeypatch.setattr(asyncpg, "connect", counted)
    server.pause()
    try:
        for _ in range(6):
            reads = [database.row("acme", "SELECT 1 AS one", ()) for _ in range(3 * SIZE)]
            await asyncio.gather(*reads, return_exceptions=True)
    finally:
        server.resume()
    # Those that came before anybody had found it out, and one attempt that outlasts a call's time.
    assert asked <= SIZE + 2
    await asyncio.sleep(0.5)
    await answers(database)


async def test_after_a_crash_the_pool_takes_new_connections(
    server: Postgres, database: PostgresDatabase
) -> None:
    await answers(database)
    server.kill()
    results = await asyncio.gather(
        *(database.row("acme", "SELECT 1 AS one", ()) for _ in range(3 * SIZE)), return_exceptions=True
    )
    assert {type(result) for result in results} == {StorageUnavailable}
    server.restart()
    await answers(database)


async def test_a_storm_of_cancelled_calls_leaves_no_connection_broken_or_lost(
    database: PostgresDatabase,
) -> None:
    def slow(connection: Connection) -> object:
        return connection.execute("SELECT pg_sleep(0.05)").fetchall()

    for index in range(STORM):
        calls: list[asyncio.Future[object]] = [
            asyncio.ensure_future(database.row("acme", "SELECT pg_sleep(0.05) AS slept", ())),
            asyncio.ensure_future(database.row("acme", "SELECT 1 AS one", ())),
        ]
        if index % 10 == 0:
            calls.append(asyncio.ensure_future(database.write(Scope("acme", b"lock"), slow)))
        await asyncio.sleep(0.001 * (index % 7))
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    await asyncio.sleep(0.5)
    await answers(database)


async def test_a_cancelled_look_up_gives_nobody_else_its_answer(database: PostgresDatabase) -> None:
    """S1."""
    for number in range(50):
        lost = asyncio.ensure_future(database.row("acme", "SELECT pg_sleep(0.002), -1 AS answer", ()))
        for _ in range(number % 5):
            await asyncio.sleep(0)
        lost.cancel()
        rows = await asyncio.gather(
            *(database.row("acme", f"SELECT {number + at} AS answer", ()) for at in range(SIZE))
        )
        assert rows == [(number + at,) for at in range(SIZE)]


async def test_a_cancelled_write_is_done_and_what_follows_it_runs(database: PostgresDatabase) -> None:
    followed = asyncio.Event()

    def body(connection: Connection) -> int:
        connection.execute("SELECT pg_sleep(0.05)").fetchall()
        return 7

    write = asyncio.ensure_future(
        database.write(Scope("acme", None), body, committed=lambda _: followed.set())
    )
    await asyncio.sleep(0.02)
    write.cancel()
    with pytest.raises(asyncio.CancelledError):
        await write
    async with asyncio.timeout(5):
        await followed.wait()


async def test_a_terminated_connection_fails_one_call_and_is_replaced(
    server: Postgres, place: Place, database: PostgresDatabase
) -> None:
    await answers(database)
    slow = asyncio.ensure_future(database.row("acme", "SELECT pg_sleep(5) AS slept", ()))
    await asyncio.sleep(0.05)
    await asyncio.to_thread(
        server.admin.execute,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'muniment'",
    )
    with pytest.raises(StorageUnavailable):
        await slow
    await answers_soon(database)


async def test_an_append_whose_end_nobody_learned_is_repeated_without_doubling(
    server: Postgres, storage: PostgresStorage
) -> None:
    draft = trace("x1", SESSION, "t1", turn("t1"))
    first = await storage.traces.append(trace("x0"))
    seal = await storage.traces.append(draft)
    assert await storage.traces.append(draft) == seal
    chain = await storage.traces.chain("acme", 0, 10)
    assert [stored.seal for stored in chain] == [first, seal]
    assert verify(chain) is None


async def test_appends_while_the_server_stands_still_fail_and_are_whole_or_absent(
    server: Postgres, storage: PostgresStorage
) -> None:
    await storage.traces.append(trace("before"))
    drafts = [trace(f"x{index}") for index in range(20)]
    appends = [asyncio.ensure_future(storage.traces.append(draft)) for draft in drafts]
    await asyncio.sleep(0)
    server.pause()
    try:
        results = await asyncio.gather(*appends, return_exceptions=True)
    finally:
        server.resume()
    assert any(isinstance(result, StorageUnavailable) for result in results)
    seals = [await storage.traces.append(draft) for draft in drafts]
    chain = await storage.traces.chain("acme", 0, 100)
    assert verify(chain) is None
    assert sorted(stored.trace_id for stored in chain) == sorted(
        ["before", *(draft.trace_id for draft in drafts)]
    )
    assert {stored.seal.sequence for stored in chain[1:]} == {seal.sequence for seal in seals}


async def test_a_cancelled_append_is_done_whole(storage: PostgresStorage) -> None:
    await storage.traces.append(trace("x0"))
    append = asyncio.ensure_future(storage.traces.append(trace("x1", SESSION, "t", turn("t"))))
    await asyncio.sleep(0.001)
    append.cancel()
    await storage.traces.append(trace("x2"))
    stored = {item.trace_id for item in await storage.traces.chain("acme", 0, 10)}
    turns = await storage.transcripts.since_last_question(SESSION, NOW)
    assert ("x1" in stored) == (len(turns) == 1)


async def test_a_read_only_server_takes_no_writes_and_says_so(
    server: Postgres, place: Place, opener: Callable[[str], Awaitable[PostgresStorage]]
) -> None:
    place.empty()
    storage = await opener(place.url)
    await storage.facts.record(USER, [fact()], NOW, receipt())
    name = place.name
    server.admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        read_only = PostgresDatabase(Connections(parse_address(place.url), 1), Timeouts())
        with pytest.raises(StorageUnavailable):
            await read_only.write(Scope("acme", None), touch)
        assert not await read_only.ready()
        assert await read_only.row("acme", "SELECT count(*) FROM facts", ()) == (1,)
        await read_only.close()
    finally:
        server.admin.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


async def test_nothing_is_left_open_by_a_closed_store(
    place: Place, opener: Callable[[str], Awaitable[PostgresStorage]]
) -> None:
    place.empty()
    storage = await opener(place.url)
    await storage.traces.append(trace(f"x{os.getpid()}"))
    await storage.close()
    count = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'muniment' "
        f"AND datname = '{place.name}'"
    )
    left = await asyncio.to_thread(place.execute, count)
    for _ in range(50):
        if left != "0":
            await asyncio.sleep(0.02)
            left = await asyncio.to_thread(place.execute, count)
    assert left == "0"
