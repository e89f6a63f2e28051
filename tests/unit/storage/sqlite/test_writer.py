"""The writer: shared commits, independent items, honest failures, nothing lost by those who stop waiting."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from storage.errors import StorageUnavailable
from storage.sqlite import writer as writer_module
from storage.sqlite.connection import connect_writer
from storage.sqlite.writer import Writer

Body = Callable[[sqlite3.Connection], None]


class Bench:
    """A writer on a table of names, and what it did."""

    def __init__(self, folder: Path) -> None:
        self.connection = connect_writer(folder / "test.db")
        self.connection.execute("CREATE TABLE names (name TEXT PRIMARY KEY)")
        self.statements: list[str] = []
        self.rollbacks = 0
        self.connection.set_trace_callback(self.statements.append)
        self.writer = Writer(self.connection, self._rolled_back)

    def _rolled_back(self) -> None:
        self.rollbacks += 1

    def add(self, name: str, heavy: bool = False) -> "asyncio.Task[None]":
        return asyncio.ensure_future(self.writer.write(insert(name), lambda _: None, heavy))

    def names(self) -> list[str]:
        return [name for (name,) in self.connection.execute("SELECT name FROM names ORDER BY name")]

    def count(self, statement: str) -> int:
        return sum(said.startswith(statement) for said in self.statements)


def insert(name: str) -> Body:
    def body(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO names VALUES (?)", (name,))

    return body


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    opened = Bench(tmp_path)
    yield opened
    await opened.writer.close()
    opened.connection.close()


async def test_writes_at_the_same_time_share_one_commit(bench: Bench) -> None:
    await asyncio.gather(*(bench.add(f"n{index:02}") for index in range(16)))
    assert len(bench.names()) == 16
    assert bench.count("COMMIT") == 1


async def test_a_batch_is_bounded(bench: Bench) -> None:
    await asyncio.gather(*(bench.add(f"n{index}") for index in range(writer_module.MAX_BATCH + 1)))
    assert bench.count("COMMIT") == 2


async def test_a_lone_write_needs_no_savepoint(bench: Bench) -> None:
    await bench.add("a")
    assert bench.count("SAVEPOINT") == 0


async def test_one_that_fails_leaves_the_others_of_its_batch_whole(bench: Bench) -> None:
    results = await asyncio.gather(
        *(bench.add(name) for name in ("a", "b", "a", "c")), return_exceptions=True
    )
    assert [type(result) for result in results] == [type(None), type(None), StorageUnavailable, type(None)]
    assert bench.names() == ["a", "b", "c"]
    assert bench.count("COMMIT") == 1


async def test_what_a_failing_item_did_before_is_undone(bench: Bench) -> None:
    def half(connection: sqlite3.Connection) -> None:
        insert("half")(connection)
        raise LookupError

    failing = asyncio.ensure_future(bench.writer.write(half, lambda _: None))
    await asyncio.gather(failing, bench.add("whole"), return_exceptions=True)
    with pytest.raises(LookupError):
        await bench.writer.write(half, lambda _: None)
    assert bench.names() == ["whole"]


async def test_a_failed_commit_fails_every_item_and_voids_what_was_remembered(bench: Bench) -> None:
    bench.connection.execute("CREATE TABLE child (name TEXT REFERENCES names DEFERRABLE INITIALLY DEFERRED)")

    def orphan(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO child VALUES ('nobody')")

    orphaned = asyncio.ensure_future(bench.writer.write(orphan, lambda _: None))
    results = await asyncio.gather(orphaned, bench.add("a"), return_exceptions=True)
    assert [type(result) for result in results] == [StorageUnavailable, StorageUnavailable]
    assert (bench.names(), bench.rollbacks) == ([], 1)
    await bench.add("b")
    assert bench.names() == ["b"]


async def test_the_driver_s_words_stay_inside(bench: Bench) -> None:
    await bench.add("secret")
    with pytest.raises(StorageUnavailable) as caught:
        await bench.add("secret")
    assert "names" not in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_cancelling_the_wait_does_not_undo_the_write(bench: Bench) -> None:
    write = bench.add("a")
    await asyncio.sleep(0)
    write.cancel()
    await bench.add("b")
    assert bench.names() == ["a", "b"]


async def test_committed_runs_after_the_commit_and_before_the_caller_learns(bench: Bench) -> None:
    order: list[str] = []
    await bench.writer.write(
        insert("a"), lambda _: order.append(f"committed {bench.connection.in_transaction}")
    )
    order.append("told")
    assert order == ["committed False", "told"]


async def test_heavy_writes_run_in_the_thread_and_alone(bench: Bench) -> None:
    threads: list[int] = []

    def body(connection: sqlite3.Connection) -> None:
        threads.append(threading.get_ident())

    first = bench.add("a")
    heavy = asyncio.ensure_future(bench.writer.write(body, lambda _: None, heavy=True))
    await asyncio.gather(first, heavy, bench.add("b"), bench.add("c"))
    assert threads[0] != threading.get_ident()
    assert bench.count("COMMIT") == 3
    assert bench.names() == ["a", "b", "c"]


async def test_slow_commits_move_to_the_thread(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "INLINE_COMMIT_SECONDS", -1.0)
    threads: list[int] = []
    bench.connection.set_trace_callback(
        lambda said: threads.append(threading.get_ident()) if said == "COMMIT" else None
    )
    await asyncio.gather(bench.add("a"), bench.add("b"))
    await bench.add("c")
    assert len(threads) == 2
    assert threading.get_ident() not in threads
    assert bench.names() == ["a", "b", "c"]


async def test_a_failing_write_before_a_slow_commit_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "INLINE_COMMIT_SECONDS", -1.0)
    await bench.add("a")
    with pytest.raises(StorageUnavailable):
        await bench.add("a")
    await bench.add("b")
    assert bench.names() == ["a", "b"]


async def test_one_write_too_many_is_refused_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "MAX_WAITING", 3)
    results = await asyncio.gather(*(bench.add(name) for name in "abcd"), return_exceptions=True)
    assert [type(result) for result in results] == [type(None)] * 3 + [StorageUnavailable]
    assert bench.writer.depth == 0
    await bench.add("e")
    assert bench.names() == ["a", "b", "c", "e"]


async def test_closing_does_what_was_accepted_and_refuses_what_comes_later(bench: Bench) -> None:
    writes = [bench.add(name, heavy=True) for name in "abc"]
    await asyncio.sleep(0)
    await bench.writer.close()
    assert all(write.done() for write in writes) or await asyncio.gather(*writes)
    with pytest.raises(StorageUnavailable):
        await bench.add("d")
    assert bench.names() == ["a", "b", "c"]


def broken(*_: object) -> None:
    raise LookupError("secret")


@pytest.mark.parametrize("heavy", [False, True])
async def test_what_fails_after_a_commit_takes_nobody_else_with_it(
    bench: Bench, caplog: pytest.LogCaptureFixture, heavy: bool
) -> None:
    first = asyncio.ensure_future(bench.writer.write(insert("a"), broken, heavy))
    await asyncio.wait_for(asyncio.gather(first, bench.add("b", heavy)), 5)
    await asyncio.wait_for(bench.add("c"), 5)
    assert bench.names() == ["a", "b", "c"]
    assert "LookupError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_hook_that_fails_at_each_commit_stops_neither_writes_nor_closing(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.writer.on_commit(broken)
    for name in "ab":
        await asyncio.wait_for(bench.add(name), 5)
    await asyncio.wait_for(bench.writer.close(), 5)
    assert bench.names() == ["a", "b"]
    assert len(caplog.records) == 2


async def test_a_failing_hook_of_rollbacks_hides_no_failure(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.writer, "_rolled_back", broken)
    await bench.add("a")
    for batch in (("a",), ("b", "a")):
        writes = [asyncio.ensure_future(asyncio.wait_for(bench.add(name), 5)) for name in batch]
        results = await asyncio.gather(*writes, return_exceptions=True)
        assert not any(result is None or isinstance(result, TimeoutError) for result in results)
    assert bench.names() == ["a"]
