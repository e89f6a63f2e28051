"""Deleted content is gone from the files, encrypted as it was: the database, its log, the answers kept for repeats."""

import asyncio
import shutil
from pathlib import Path

import pytest

from storage.conformance.samples import NOW, SESSION, USER, fact, later, receipt, turn
from storage.ports import FactSelector
from storage.sqlite import checkpoints, open_sqlite
from storage.sqlite.factory import SqliteStorage

REASON = "reason-7f3a91"
_FACT = "SELECT content FROM facts WHERE content IS NOT NULL ORDER BY no DESC"
_TURN = "SELECT content FROM turns"


def ciphertext(storage: SqliteStorage, statement: str) -> bytes:
    """Some bytes of a stored value: behind its header, and few enough to lie in one page."""
    (sealed,) = storage._connection.execute(statement).fetchone()
    return bytes(sealed[5:60])


def files_with(folder: Path, wanted: bytes) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if wanted in path.read_bytes())


async def gone(folder: Path, wanted: bytes) -> bool:
    for _ in range(200):
        if not files_with(folder, wanted):
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
        await storage.facts.record(USER, [fact("k", "old")], NOW, receipt("r1"))
        canary = ciphertext(storage, _FACT)
        answer = ciphertext(storage, "SELECT response FROM receipts WHERE request_id = 'r1'")
        await storage.facts.record(USER, [fact("k", "newer", later(hours=1))], NOW, receipt("r2", body="2"))
        await storage.facts.invalidate(USER, FactSelector(no=51), REASON, NOW, receipt())
        wanted = (canary, answer, REASON.encode())
        assert all(files_with(tmp_path, each) for each in wanted[:2])
        await storage.facts.delete(USER, 51, "", NOW, receipt())
        for each in wanted:
            assert await gone(tmp_path, each)
        assert len((await storage.facts.load(USER)).facts) == 51
    assert not any(files_with(tmp_path, each) for each in wanted)


async def test_the_turns_of_an_ended_session_leave_no_byte_behind(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        turns = [turn(f"t{index}", "said " * 500) for index in range(20)]
        await storage.transcripts.record(SESSION, turns, NOW, None, receipt())
        canary = ciphertext(storage, _TURN)
        assert files_with(tmp_path, canary)
        await storage.transcripts.end(SESSION, None, NOW, receipt())
        assert await gone(tmp_path, canary)


async def test_a_long_reader_only_delays_it(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await storage.facts.record(USER, [fact("k", "said")], NOW, receipt())
        canary = ciphertext(storage, _FACT)
        async with storage._database.snapshot("acme") as snapshot:
            await snapshot.row("SELECT count(*) FROM facts", ())
            await storage.facts.delete(USER, 1, "", NOW, receipt())
            await asyncio.sleep(0.1)
            assert files_with(tmp_path, canary)
        assert await gone(tmp_path, canary)


async def test_closing_right_after_deleting_leaves_no_byte_behind(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await storage.facts.record(USER, [fact("k", "said")], NOW, receipt())
        canary = ciphertext(storage, _FACT)
        assert files_with(tmp_path, canary)
        await storage.facts.delete(USER, 1, "", NOW, receipt())
    assert not files_with(tmp_path, canary)


async def test_what_a_killed_process_left_in_the_log_goes_after_the_next_start(tmp_path: Path) -> None:
    first = await open_sqlite(tmp_path / "a")
    await first.facts.record(USER, [fact("k", "said")], NOW, receipt())
    canary = ciphertext(first, _FACT)
    await first.facts.delete(USER, 1, "", NOW, receipt())
    # The files as a kill right after the deletion would have left them.
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    await first.close()
    assert files_with(tmp_path / "b", canary)
    async with await open_sqlite(tmp_path / "b"):
        assert await gone(tmp_path / "b", canary)
