"""Expired rows are removed along the way, and nothing that may still be needed."""

from datetime import datetime
from pathlib import Path

from assemblers.records import SessionRef
from storage.conformance.samples import NOW, SESSION, later, receipt, trace, turn
from storage.sqlite import open_sqlite
from storage.sqlite.factory import SqliteStorage


async def counts(data: Path) -> list[int]:
    """How many rows are left, once what was begun is done."""
    async with await open_sqlite(data) as storage:
        return [_count(storage, table) for table in ("receipts", "turns")]


def _count(storage: SqliteStorage, table: str) -> int:
    (count,) = storage._connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(count)


async def fill(storage: SqliteStorage) -> None:
    for index in range(10):
        expires = later(hours=24)
        await storage.transcripts.record(SESSION, [turn(f"t{index}")], NOW, expires, receipt(f"r{index}"))
        await storage.traces.append(trace(f"x{index}"))


async def append_many(storage: SqliteStorage, when: datetime, tenant_id: str = "acme") -> None:
    session = SessionRef(tenant_id, "bob", "s")
    for index in range(64):
        name = f"{when.isoformat()}-{index}"
        await storage.traces.append(trace(name, session, name, when=when))


async def test_expired_rows_go_with_later_writes(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await fill(storage)
    assert await counts(tmp_path) == [10, 10]
    async with await open_sqlite(tmp_path) as storage:
        await append_many(storage, later(hours=27))
    assert await counts(tmp_path) == [0, 0]


async def test_a_clock_that_jumped_two_hours_takes_nothing_away(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await fill(storage)
        await append_many(storage, later(hours=25, minutes=59))
    assert await counts(tmp_path) == [10, 10]


async def test_one_tenant_s_writes_take_nothing_of_another_s(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await fill(storage)
        await append_many(storage, later(hours=27), "umbrella")
    assert await counts(tmp_path) == [10, 10]
