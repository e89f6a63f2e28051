"""The log: started over in place where only its size asks for it, bounded beside readers, empty after closing."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.conformance.samples import trace, turn
from storage.sqlite import checkpoints, open_sqlite
from storage.sqlite.checkpoints import advance, empty_log, start_over
from storage.sqlite.connection import connect_reader, connect_writer
from storage.sqlite.factory import SqliteStorage

PAGE = 4_096
MAX_PAGES = 64


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "WRITES", 8)
    monkeypatch.setattr(checkpoints, "MAX_PAGES", MAX_PAGES)
    monkeypatch.setattr(checkpoints, "SCRUB_SECONDS", 3_600)


def log_bytes(folder: Path) -> int:
    return (folder / "muniment.db-wal").stat().st_size


async def append(storage: SqliteStorage, first: int, count: int) -> None:
    for index in range(first, first + count):
        await storage.traces.append(trace(f"x{index}", content="x" * 12_000))


async def test_the_log_of_a_busy_store_is_overwritten_and_keeps_its_size(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        sizes = []
        for first in range(0, 400, 8):
            await append(storage, first, 8)
            await asyncio.sleep(0.005)
            sizes.append(log_bytes(tmp_path))
    written = 400 * 12_000
    assert sizes == sorted(sizes)
    assert MAX_PAGES * PAGE < sizes[-1] < written / 4


async def test_writes_that_never_pause_do_not_make_the_log_grow(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        for first in range(0, 960, 16):
            await asyncio.gather(*(append(storage, first + index, 1) for index in range(16)))
        assert log_bytes(tmp_path) < 960 * 12_000 / 2


async def test_a_reader_in_the_way_puts_it_off_and_no_longer(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        async with storage._database.snapshot("acme") as snapshot:
            await snapshot.row("SELECT count(*) FROM traces", ())
            await append(storage, 0, 100)
            held = log_bytes(tmp_path)
            assert held > 100 * 12_000
        for first in range(100, 300, 8):
            await append(storage, first, 8)
            await asyncio.sleep(0.005)
        assert log_bytes(tmp_path) < 1.5 * held
        assert len(await storage.traces.chain("acme", 0, 1_000)) == 300


async def test_what_was_overwritten_in_the_log_is_in_the_file(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await append(storage, 0, 200)
        before = await storage.traces.chain("acme", 0, 1_000)
    assert not (tmp_path / "muniment.db-wal").exists()
    async with await open_sqlite(tmp_path) as storage:
        assert await storage.traces.chain("acme", 0, 1_000) == before


def filled(folder: Path) -> sqlite3.Connection:
    connection = connect_writer(folder / "muniment.db")
    connection.execute("CREATE TABLE names (name TEXT)")
    connection.executemany("INSERT INTO names VALUES (?)", [("x" * 3_000,)] * 50)
    return connection


def test_starting_over_keeps_the_file_and_emptying_cuts_it(tmp_path: Path) -> None:
    connection = filled(tmp_path)
    full = log_bytes(tmp_path)
    assert start_over(connection)
    assert log_bytes(tmp_path) == full
    connection.execute("INSERT INTO names VALUES ('one more')")
    assert advance(connection) < 5
    assert log_bytes(tmp_path) == full
    assert empty_log(connection)
    assert log_bytes(tmp_path) == 0
    connection.close()


@pytest.mark.parametrize("act", [start_over, empty_log])
def test_neither_waits_for_a_reader(tmp_path: Path, act: Callable[[sqlite3.Connection], bool]) -> None:
    connection, reader = filled(tmp_path), connect_reader(tmp_path / "muniment.db")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM names").fetchone()
    connection.execute("INSERT INTO names VALUES ('one more')")
    assert not act(connection)
    assert connection.execute("PRAGMA busy_timeout").fetchone() == (2_000,)
    reader.close()
    assert act(connection)
    connection.close()


async def test_an_append_writes_few_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit costs what it writes: a page more per append means an index more than it needs."""
    monkeypatch.setattr(checkpoints, "WRITES", 10**9)
    async with await open_sqlite(tmp_path) as storage:
        await append(storage, 0, 40)
        connection = connect_reader(tmp_path / "muniment.db")
        # With nothing left to copy, the next commit starts the log over: what it holds at the end are these appends.
        advance(connection)
        for index in range(100):
            kept = turn(f"t{index}")
            await storage.traces.append(trace(f"y{index}", turn_id=kept.turn_id, kept=kept))
        assert advance(connection) / 100 < 8
        connection.close()
