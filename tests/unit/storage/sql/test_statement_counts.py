"""How many statements a step takes does not depend on how much there is: on a server each is a round trip (P71)."""

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from storage.conformance.samples import NOW, SESSION, USER, archived, fact, receipt, trace, turn
from storage.ports import FactSelector, PageRequest, Storage
from storage.sqlite import open_sqlite
from storage.sqlite.connection import connect_reader, connect_writer

Step = Callable[[Storage], Awaitable[object]]

STEPS: dict[str, Step] = {
    "load facts": lambda s: s.facts.load(USER),
    "a page of facts": lambda s: s.facts.list(USER, FactSelector(), PageRequest(5)),
    "a fact": lambda s: s.facts.get(USER, 1),
    "load an archive": lambda s: s.archives.load(USER),
    "excerpts": lambda s: s.archives.excerpts(USER, (1, 2, 3)),
    "open turns": lambda s: s.transcripts.since_last_question(SESSION, NOW),
    "a page of turns": lambda s: s.transcripts.list(SESSION, NOW, PageRequest(5)),
    "latest trace": lambda s: s.traces.latest(SESSION),
    "epochs": lambda s: s.epochs.read(USER),
    "record a fact": lambda s: s.facts.record(USER, [fact("k1", "new")], NOW, receipt("r")),
    "invalidate a fact": lambda s: s.facts.invalidate(USER, FactSelector(no=2), "", NOW, receipt()),
    "delete a fact": lambda s: s.facts.delete(USER, 3, "", NOW, receipt()),
    "archive": lambda s: s.archives.append(USER, [archived("new", "a")], NOW, receipt()),
    "record a turn": lambda s: s.transcripts.record(SESSION, [turn("new")], NOW, None, receipt()),
    "append": lambda s: s.traces.append(trace("new", kept=turn("newer"))),
    "end the session": lambda s: s.transcripts.end(SESSION, archived("s", "a"), NOW, receipt()),
}


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that any connection runs."""
    ran: list[str] = []

    def traced(connect: Callable[[Path], sqlite3.Connection]) -> Callable[[Path], sqlite3.Connection]:
        def connected(path: Path) -> sqlite3.Connection:
            connection = connect(path)
            connection.set_trace_callback(ran.append)
            return connection

        return connected

    monkeypatch.setattr("storage.sqlite.database.connect_reader", traced(connect_reader))
    monkeypatch.setattr("storage.sqlite.factory.connect_writer", traced(connect_writer))
    return ran


async def fill(storage: Storage, count: int) -> None:
    facts = [fact(f"k{index}", index) for index in range(count)]
    await storage.facts.record(USER, facts, NOW, receipt())
    await storage.archives.append(USER, [archived("old", *map(str, range(count)))], NOW, receipt())
    await storage.transcripts.record(SESSION, [turn(f"t{n}") for n in range(count)], NOW, None, receipt())
    for index in range(count):
        await storage.traces.append(trace(f"x{index}"))


async def costs(folder: Path, count: int, statements: list[str]) -> dict[str, int]:
    """The statements of each step, on a store that holds so many things of each kind."""
    found: dict[str, int] = {}
    async with await open_sqlite(folder) as storage:
        await fill(storage, count)
        for name, step in STEPS.items():
            statements.clear()
            await step(storage)
            found[name] = len([text for text in statements if not text.startswith(("--", "PRAGMA"))])
    return found


async def test_a_step_takes_as_many_statements_with_hundreds_of_things_as_with_a_few(
    tmp_path: Path, statements: list[str]
) -> None:
    few = await costs(tmp_path / "few", 5, statements)
    assert min(few.values()) > 0
    assert await costs(tmp_path / "many", 300, statements) == few


async def test_importing_hundreds_of_sessions_takes_few_statements(
    tmp_path: Path, statements: list[str]
) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await storage.archives.append(
            USER, [archived(f"s{n}", "a") for n in range(0, 400, 2)], NOW, receipt()
        )
        statements.clear()
        sessions = [archived(f"s{n}", "a", "b") for n in range(400)]
        written = await storage.archives.append(USER, sessions, NOW, receipt())
        assert (written.added, written.duplicates) == (600, 200)
        assert len(statements) < 50


async def test_invalidating_hundreds_takes_few_statements(tmp_path: Path, statements: list[str]) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await fill(storage, 500)
        statements.clear()
        gone = await storage.facts.invalidate(USER, FactSelector(), "", NOW, receipt())
        assert len(gone) == 500
        assert len(statements) < 20
