"""The rows of users: made by the first thing that is kept of a user, and by nothing else."""

from pathlib import Path

import pytest

from storage.conformance.samples import NOW, SESSION, USER, archived, fact, receipt
from storage.ports import ArchivedSession, FactSelector
from storage.sqlite import open_sqlite
from storage.sqlite.factory import SqliteStorage


def users(storage: SqliteStorage) -> list[tuple[str, int, int]]:
    return storage._connection.execute("SELECT user_id, fact_no, excerpt_no FROM users").fetchall()


@pytest.mark.parametrize("nothing", [None, archived("s1")])
async def test_ending_the_session_of_an_unknown_user_makes_no_user(
    tmp_path: Path, nothing: ArchivedSession | None
) -> None:
    """P13."""
    async with await open_sqlite(tmp_path) as storage:
        await storage.transcripts.end(SESSION, nothing, NOW, receipt("r"))
        assert users(storage) == []


async def test_writes_that_find_nothing_or_bring_nothing_make_no_user(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await storage.facts.record(USER, [], NOW, receipt())
        await storage.facts.invalidate(USER, FactSelector(), "", NOW, receipt())
        await storage.archives.append(USER, [archived("s1")], NOW, receipt())
        assert users(storage) == []


async def test_the_first_thing_kept_makes_the_user_whose_pseudonym_stays(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await storage.facts.record(USER, [fact()], NOW, receipt())
        pseudonym = await storage.users.pseudonym(USER)
        await storage.archives.append(USER, [archived("s1", "a", "b")], NOW, receipt())
        assert users(storage) == [("ann", 1, 2)]
    async with await open_sqlite(tmp_path) as storage:
        assert await storage.users.pseudonym(USER) == pseudonym
