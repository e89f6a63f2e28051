"""A full disk: writes say so and leave nothing, reads go on, and all is well once there is room again."""

import asyncio
import gc
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from storage.conformance.samples import NOW, SESSION, USER, fact, later, receipt, refused, trace, turn
from storage.errors import StorageFull
from storage.ledger import verify
from storage.ports import FactSelector, Storage
from storage.sqlite import open_sqlite
from storage.sqlite.factory import SqliteStorage
from storage.sqlite.reserve import RESERVE_NAME


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


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of 16 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a file system of its own cannot be mounted here: that is root's to do")
    yield folder
    # A statement that failed keeps its closed connection, and so the files, until it is collected.
    gc.collect()
    subprocess.run(["umount", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Take all room that is left; the file that holds it."""
    filling = disk / "filling"
    with suppress(OSError), filling.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return filling


async def furnish(storage: Storage) -> None:
    """Facts whose removal takes more room than the log has, and a session."""
    for batch in range(4):
        drafts = [fact(f"k{batch}-{index}", "x" * 200) for index in range(200)]
        await storage.facts.record(USER, drafts, NOW, receipt())
    await storage.transcripts.record(SESSION, [turn("t1")], NOW, None, receipt())


async def write_much(storage: Storage) -> None:
    await storage.traces.append(trace("large", content="x" * 2_000_000))


async def test_erasing_and_invalidating_get_the_room_that_is_kept_for_them(disk: Path) -> None:
    async with await open_sqlite(disk / "data") as storage:
        await furnish(storage)
        fill(disk)
        invalidated = await storage.facts.invalidate(USER, FactSelector(), "", later(hours=1), receipt())
        assert len(invalidated) == 800
        assert not (disk / "data" / RESERVE_NAME).exists()
        for number in range(1, 50):
            await storage.facts.delete(USER, number, "", later(hours=1), receipt())
        assert (await storage.transcripts.end(SESSION, None, NOW, receipt())).turns == 1
        assert min(item.no for item in (await storage.facts.load(USER)).facts) == 50


async def test_what_was_given_up_for_removals_is_not_used_up_by_other_writes(disk: Path) -> None:
    async with await open_sqlite(disk / "data") as storage:
        await furnish(storage)
        fill(disk)
        await storage.facts.invalidate(USER, FactSelector(), "", later(hours=1), receipt())
        with refused(StorageFull):
            await storage.traces.append(trace("small"))
        await storage.facts.delete(USER, 1, "", later(hours=1), receipt())


async def test_a_full_disk_is_not_ready_until_there_is_room_and_then_all_is_as_before(disk: Path) -> None:
    async with await open_sqlite(disk / "data") as storage:
        await furnish(storage)
        assert await storage.ready()
        filling = fill(disk)
        with refused(StorageFull):
            await write_much(storage)
        assert not await storage.ready()
        await storage.facts.invalidate(USER, FactSelector(), "", later(hours=1), receipt())
        assert not await storage.ready()
        filling.unlink()
        await write_much(storage)
        assert await storage.ready()
        assert (disk / "data" / RESERVE_NAME).stat().st_size == 4 * 2**20
        assert verify(await storage.traces.chain("acme", 0, 10)) is None


async def test_room_is_noticed_though_nobody_writes(disk: Path) -> None:
    async with await open_sqlite(disk / "data") as storage:
        filling = fill(disk)
        with refused(StorageFull):
            await write_much(storage)
        assert not await storage.ready()
        filling.unlink()
        assert await storage.ready()


async def test_a_full_disk_can_be_opened_and_erased_from(disk: Path) -> None:
    """Otherwise a restart would take away the way out."""
    async with await open_sqlite(disk / "data") as storage:
        await furnish(storage)
    filling = fill(disk)
    async with await open_sqlite(disk / "data") as storage:
        assert not await storage.ready()
        await storage.facts.delete(USER, 1, "", later(hours=1), receipt())
        filling.unlink()
        assert await storage.ready()
