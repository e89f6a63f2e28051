"""Writes: whole or absent, under their lock, tried again where they met another one."""

import asyncio
from collections.abc import Callable

import pytest

from storage.errors import NotFound, StorageUnavailable
from storage.postgres.database import PostgresDatabase
from storage.sql.engine import Connection, Scope

WRITERS = 30
READ = "SELECT sequence FROM chain_heads WHERE tenant_id = ?"
SET = """INSERT INTO chain_heads (tenant_id, sequence, record_hash) VALUES (?, ?, ?)
    ON CONFLICT (tenant_id) DO UPDATE SET sequence = excluded.sequence"""
TURN = """INSERT INTO turns
    (tenant_id, user_id, session_id, turn_no, turn_id, role, speaker, occur_time, expire_time, content)
    VALUES (?, 'ann', 's', (SELECT coalesce(max(turn_no), 0) + 1 FROM turns), ?, '', '', 0, NULL, ?)"""


def increment(connection: Connection) -> int:
    row = connection.execute(READ, ("acme",)).fetchone()
    number = (0 if row is None else int(row[0])) + 1
    connection.execute(SET, ("acme", number, b""))
    return number


async def test_writes_under_one_lock_read_what_the_one_before_wrote(database: PostgresDatabase) -> None:
    scope = Scope("acme", b"lock")
    numbers = await asyncio.gather(*(database.write(scope, increment) for _ in range(WRITERS)))
    assert sorted(numbers) == list(range(1, WRITERS + 1))
    assert await database.row("acme", READ, ("acme",)) == (WRITERS,)


async def test_writes_under_different_locks_do_not_wait_for_each_other(database: PostgresDatabase) -> None:
    def slow(connection: Connection) -> object:
        return connection.execute("SELECT pg_sleep(0.5)").fetchall()

    first = asyncio.ensure_future(database.write(Scope("acme", b"one"), slow))
    await asyncio.sleep(0.05)
    await database.write(Scope("acme", b"other"), increment)
    assert not first.done()
    await first


async def test_a_write_that_met_another_one_is_done_again(database: PostgresDatabase) -> None:
    runs = 0

    def body(name: str) -> Callable[[Connection], int]:
        def add(connection: Connection) -> int:
            nonlocal runs
            runs += 1
            count = connection.execute(TURN, ("acme", name, b"")).rowcount
            connection.execute("SELECT pg_sleep(0.02)").fetchall()
            return count

        return add

    added = await asyncio.gather(*(database.write(Scope("acme", None), body(f"t{at}")) for at in range(3)))
    assert added == [1, 1, 1]
    assert runs > 3
    numbers = await database.rows("acme", "SELECT turn_no FROM turns ORDER BY turn_no", ())
    assert numbers == [(1,), (2,), (3,)]


async def test_a_write_that_never_gets_through_says_so(database: PostgresDatabase) -> None:
    await database.write(Scope("acme", None), lambda c: c.execute(TURN, ("acme", "t", b"")).rowcount)
    with pytest.raises(StorageUnavailable):
        await database.write(Scope("acme", None), lambda c: c.execute(TURN, ("acme", "t", b"")).rowcount)


async def test_what_a_body_raises_undoes_it_and_comes_out_as_it_is(database: PostgresDatabase) -> None:
    def body(connection: Connection) -> None:
        increment(connection)
        raise NotFound("no such thing")

    for _ in range(10):
        with pytest.raises(NotFound):
            await database.write(Scope("acme", b"lock"), body)
    assert await database.row("acme", READ, ("acme",)) is None


async def test_what_follows_a_write_runs_before_its_caller_goes_on(database: PostgresDatabase) -> None:
    followed: list[int] = []
    number = await database.write(Scope("acme", None), increment, committed=followed.append)
    assert followed == [number]
    removed = await database.remove(Scope("acme", None), increment, committed=followed.append, heavy=True)
    assert followed == [number, removed]


async def test_a_statement_tells_its_rows_and_how_many_it_touched(database: PostgresDatabase) -> None:
    def body(connection: Connection) -> None:
        for number in range(3):
            connection.execute(TURN, ("acme", f"t{number}", b"x"))
        found = connection.execute("SELECT turn_id, content FROM turns ORDER BY turn_no")
        assert (found.fetchone(), found.rowcount) == (("t0", b"x"), 3)
        assert found.fetchall() == [("t1", b"x"), ("t2", b"x")]
        assert (found.fetchone(), found.fetchall()) == (None, [])
        updated = connection.execute("UPDATE turns SET speaker = ? WHERE turn_no > ?", ("ann", 1))
        assert updated.rowcount == 2
        returned = connection.execute("DELETE FROM turns WHERE turn_no = ? RETURNING turn_id", (2,))
        assert (returned.rowcount, returned.fetchall()) == (1, [("t1",)])
        assert connection.execute("DELETE FROM turns WHERE turn_no > 99").rowcount == 0

    await database.write(Scope("acme", None), body)


async def test_a_write_sees_its_tenant_only(database: PostgresDatabase) -> None:
    await database.write(Scope("acme", None), increment)

    def body(connection: Connection) -> int:
        assert connection.execute("SELECT * FROM chain_heads").fetchall() == []
        return connection.execute("DELETE FROM turns").rowcount

    assert await database.write(Scope("umbrella", None), body) == 0


async def test_a_closed_database_refuses(database: PostgresDatabase) -> None:
    await database.close()
    with pytest.raises(StorageUnavailable):
        await database.row("acme", READ, ("acme",))
    with pytest.raises(StorageUnavailable):
        await database.write(Scope("acme", None), increment)
    assert not await database.ready()


async def test_long_work_runs_beside_the_loop(database: PostgresDatabase) -> None:
    assert await database.compute(lambda: sum(range(10))) == 45
