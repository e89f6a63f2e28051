"""Deleted content is gone from the files: the database, its log, and every answer kept for repeats."""

import asyncio
import shutil
from pathlib import Path

import pytest

from storage.conformance.samples import NOW, SESSION, USER, fact, later, receipt, turn
from storage.ports import FactSelector
from storage.sqlite import checkpoints, open_sqlite

CANARY = "canary-7f3a91"


def files_with_canary(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if CANARY.encode() in path.read_bytes())


async def gone(folder: Path) -> bool:
    for _ in range(200):
        if not files_with_canary(folder):
            return True
        await asyncio.sleep(0.01)
    return False


@pytest.fixture(autouse=True)
def _scrub_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "SCRUB_SECONDS", 0.02)


async def test_a_deleted_fact_leaves_no_byte_behind(tmp_path: Path) -> None:
    """P55."""
    async with await open_sqlite(tmp_path) as storage:
        drafts = [fact(f"k{index}", f"kept {index}") for index in range(50)]
        await storage.facts.record(USER, drafts, NOW, receipt())
        await storage.facts.record(USER, [fact("k", CANARY)], NOW, receipt("r1"))
        await storage.facts.record(USER, [fact("k", "newer", later(hours=1))], NOW, receipt("r2", body="2"))
        await storage.facts.invalidate(USER, FactSelector(no=51), CANARY, NOW, receipt())
        assert files_with_canary(tmp_path)
        await storage.facts.delete(USER, 51, "", NOW, receipt())
        assert await gone(tmp_path)
        assert len((await storage.facts.load(USER)).facts) == 51
    assert not files_with_canary(tmp_path)


async def test_the_turns_of_an_ended_session_leave_no_byte_behind(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        turns = [turn(f"t{index}", f"{CANARY} " * 500) for index in range(20)]
        await storage.transcripts.record(SESSION, turns, NOW, None, receipt())
        assert files_with_canary(tmp_path)
        await storage.transcripts.end(SESSION, None, NOW, receipt())
        assert await gone(tmp_path)


async def test_a_long_reader_only_delays_it(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await storage.facts.record(USER, [fact("k", CANARY)], NOW, receipt())
        async with storage._database.snapshot("acme") as snapshot:
            await snapshot.row("SELECT count(*) FROM facts", ())
            await storage.facts.delete(USER, 1, "", NOW, receipt())
            await asyncio.sleep(0.1)
            assert files_with_canary(tmp_path)
        assert await gone(tmp_path)


async def test_closing_right_after_deleting_leaves_no_byte_behind(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await storage.facts.record(USER, [fact("k", CANARY)], NOW, receipt())
        await storage.facts.delete(USER, 1, "", NOW, receipt())
    assert not files_with_canary(tmp_path)


async def test_what_a_killed_process_left_in_the_log_goes_after_the_next_start(tmp_path: Path) -> None:
    first = await open_sqlite(tmp_path / "a")
    await first.facts.record(USER, [fact("k", CANARY)], NOW, receipt())
    await first.facts.delete(USER, 1, "", NOW, receipt())
    # The files as a kill right after the deletion would have left them.
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    await first.close()
    assert files_with_canary(tmp_path / "b")
    async with await open_sqlite(tmp_path / "b"):
        assert await gone(tmp_path / "b")
