"""A full disk: writes say so and leave nothing, reads go on, and all is well once there is room again."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.conformance.samples import NOW, USER, fact, later, receipt, refused, trace
from storage.errors import StorageFull
from storage.ledger import verify
from storage.sqlite import open_sqlite
from storage.sqlite.factory import SqliteStorage


@contextmanager
def no_room(storage: SqliteStorage) -> Iterator[None]:
    """SQLite may not take another page, and answers as it does for a full disk."""
    connection = storage._connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    yield
    connection.execute("PRAGMA max_page_count = 4294967294")


async def test_a_full_disk_refuses_writes_and_serves_reads(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await storage.facts.record(USER, [fact("k", "before")], NOW, receipt())
        await storage.traces.append(trace("x1"))
        with no_room(storage):
            with refused(StorageFull) as caught:
                await storage.traces.append(trace("x2", content="x" * 100_000))
            assert "database" not in str(caught.error)
            assert [item.value for item in (await storage.facts.load(USER)).facts] == ["before"]
        await storage.traces.append(trace("x3", content="x" * 100_000))
        chain = await storage.traces.chain("acme", 0, 10)
        assert [item.trace_id for item in chain] == ["x1", "x3"]
        assert verify(chain) is None


async def test_a_full_disk_amid_a_shared_commit_harms_no_state_in_memory(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await storage.traces.append(trace("x0"))
        with no_room(storage):
            small = [storage.traces.append(trace(f"s{index}")) for index in range(3)]
            large = storage.traces.append(trace("large", content="x" * 500_000))
            results = await asyncio.gather(*small, large, return_exceptions=True)
        assert isinstance(results[-1], StorageFull)
        await storage.traces.append(trace("after"))
        chain = await storage.traces.chain("acme", 0, 10)
        acknowledged = [
            f"s{index}" for index, result in enumerate(results[:3]) if not isinstance(result, Exception)
        ]
        assert [item.trace_id for item in chain] == ["x0", *acknowledged, "after"]
        assert verify(chain) is None


@pytest.mark.parametrize("repeats", [3])
async def test_deleting_works_on_a_full_disk(tmp_path: Path, repeats: int) -> None:
    """The way out must not need the room that is missing."""
    async with await open_sqlite(tmp_path) as storage:
        drafts = [fact(f"k{index}", "x" * 200) for index in range(200)]
        await storage.facts.record(USER, drafts, NOW, receipt())
        with no_room(storage):
            for number in range(1, 1 + repeats):
                await storage.facts.delete(USER, number, "", later(hours=1), receipt())
        assert len((await storage.facts.load(USER)).facts) == 200 - repeats
