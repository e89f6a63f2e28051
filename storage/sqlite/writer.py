"""The only way to write: a queue whose waiting items share one transaction and one fsync (group commit).

An item that fails leaves the others whole: the transaction is undone and done again, then with a savepoint around each
item. So an item's body may run twice, and must depend on nothing but the database. Nothing is acknowledged
before the commit is durable, and an item that was accepted is done even if nobody waits for it any more.

Where it runs is measured, not believed. On a disk that syncs in 0.2 ms, statements and commit in the event loop take
0.65 ms for one caller, a writer thread 0.90 ms, and for sixteen callers the loop is ahead by a tenth: the hand-over of
the interpreter lock costs more than the sync. A slow disk would hold up the loop, though: once commits take longer than
`INLINE_COMMIT_SECONDS` on average, they move to the thread, and come back when they are quick again. Items marked heavy
always run in the thread, alone.
"""

import asyncio
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, Generic, Protocol, TypeVar

from storage.errors import StorageUnavailable
from storage.sqlite.failures import translate

T = TypeVar("T")
_log = logging.getLogger(__name__)

MAX_WAITING: Final = 4_096
"""Writes that may wait; one more is refused at once."""
MAX_BATCH: Final = 64
"""Writes that share a commit."""
INLINE_COMMIT_SECONDS: Final = 0.002
"""Commits slower than this, on average, do not run in the event loop."""
_SMOOTHING: Final = 0.125


class Pending(Protocol):
    """A write on its way. `bare`: it opens no transaction, as a checkpoint must not."""

    heavy: bool
    bare: bool

    def run(self, connection: sqlite3.Connection) -> None: ...
    def settle(self) -> None: ...
    def fail(self, error: Exception) -> None: ...


class Write(Generic[T]):
    """One atomic step. `body` runs inside the transaction; `committed` runs in the loop once its result is durable."""

    __slots__ = ("_body", "_committed", "_error", "_future", "_result", "bare", "heavy")

    def __init__(
        self,
        body: Callable[[sqlite3.Connection], T],
        committed: Callable[[T], None],
        future: "asyncio.Future[T]",
        heavy: bool,
        bare: bool = False,
    ) -> None:
        self.heavy, self.bare = heavy or bare, bare
        self._body, self._committed, self._future = body, committed, future
        self._result: T | None = None
        self._error: Exception | None = None

    def run(self, connection: sqlite3.Connection) -> None:
        """Do it within the open transaction; raises what the body raises, and remembers it."""
        self._result = self._body(connection)

    def fail(self, error: Exception) -> None:
        """Remember that nothing of it was stored."""
        self._error = error

    def settle(self) -> None:
        """Tell who waits, if somebody still does."""
        if self._error is not None:
            if not self._future.done():
                self._future.set_exception(self._error)
            return
        result: T = self._result  # type: ignore[assignment]  # None only where T allows it
        try:
            self._committed(result)
        finally:
            # It is durable, whatever became of what should have followed.
            if not self._future.done():
                self._future.set_result(result)


class Writer:
    """The queue and its pump. Belongs to one event loop; all methods are called from there."""

    def __init__(self, connection: sqlite3.Connection, rolled_back: Callable[[], None]) -> None:
        """`rolled_back` runs whenever a whole transaction was undone: what was remembered of it is void."""
        self._connection, self._rolled_back = connection, rolled_back
        self._waiting: deque[Pending] = deque()
        self._thread = ThreadPoolExecutor(1, "muniment-writer")
        self._loop = asyncio.get_running_loop()
        self._scheduled = self._closed = False
        self._commit_seconds = 0.0
        self._on_commit: Callable[[int], None] = lambda _: None
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def depth(self) -> int:
        """How many writes wait for a transaction."""
        return len(self._waiting)

    def on_commit(self, told: Callable[[int], None]) -> None:
        """Have something told, in the loop, after each batch, of how many writes it was."""
        self._on_commit = told

    async def write(
        self, body: Callable[[sqlite3.Connection], T], committed: Callable[[T], None], heavy: bool = False
    ) -> T:
        """Queue a step and wait until it is durable. Cancelling the wait does not undo the step."""
        if self._closed or len(self._waiting) >= MAX_WAITING:
            raise StorageUnavailable("too many writes are waiting")
        future: asyncio.Future[T] = self._loop.create_future()
        self._enqueue(Write(body, committed, future, heavy))
        return await future

    async def between(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run something between two transactions, on the thread."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._enqueue(Write(work, lambda _: None, future, heavy=True, bare=True))
        return await future

    async def close(self) -> None:
        """Refuse what is new, do what was accepted, then stop."""
        self._closed = True
        await self._idle.wait()
        self._thread.shutdown()

    def _enqueue(self, item: Pending) -> None:
        self._waiting.append(item)
        self._schedule()

    def _schedule(self) -> None:
        # The next round of the loop, not at once: what else is ready in this round joins the batch.
        if not self._scheduled:
            self._scheduled = True
            self._idle.clear()
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        batch = self._take()
        if batch[0].bare:
            self._in_thread(batch, lambda: self._run_bare(batch[0]))
        elif batch[0].heavy:
            self._in_thread(batch, lambda: self._transact(batch))
        elif self._commit_seconds <= INLINE_COMMIT_SECONDS:
            self._transact(batch)
            self._finish(batch)
        elif self._execute(batch):
            self._in_thread(batch, lambda: self._commit(batch))
        else:
            self._finish(batch)

    def _take(self) -> list[Pending]:
        batch = [self._waiting.popleft()]
        while self._waiting and len(batch) < MAX_BATCH and not (batch[0].heavy or self._waiting[0].heavy):
            batch.append(self._waiting.popleft())
        return batch

    def _in_thread(self, batch: list[Pending], work: Callable[[], None]) -> None:
        done = self._loop.run_in_executor(self._thread, work)
        done.add_done_callback(lambda _: self._finish(batch))

    def _finish(self, batch: list[Pending]) -> None:
        for item in batch:
            _guarded(item.settle)
        self._scheduled = False
        _guarded(lambda: self._on_commit(len(batch)))
        if self._waiting:
            self._schedule()
        else:
            self._idle.set()

    # -- within the transaction; on the loop or on the thread, never on both at once

    def _run_bare(self, item: Pending) -> None:
        try:
            item.run(self._connection)
        except Exception as error:  # noqa: BLE001 - whatever failed, it goes to who waits
            item.fail(_typed(error))

    def _transact(self, batch: list[Pending]) -> None:
        if self._execute(batch):
            self._commit(batch)

    def _execute(self, batch: list[Pending]) -> bool:
        """Open a transaction and run the items. False: it came to nothing, every item knows."""
        try:
            if len(batch) == 1:
                self._connection.execute("BEGIN IMMEDIATE")
                batch[0].run(self._connection)
            elif not self._run_together(batch):
                self._connection.execute("BEGIN IMMEDIATE")
                for item in batch:
                    self._run_guarded(item)
        except Exception as error:  # noqa: BLE001 - whatever failed, it goes to those who wait
            self._abandon(batch, error)
            return False
        return True

    def _run_together(self, batch: list[Pending]) -> bool:
        """Run all items without savepoints, which is a third quicker. False: one failed, and all is undone."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            for item in batch:
                item.run(connection)
        except Exception:  # noqa: BLE001 - the item fails again, under its savepoint, and its error goes to who waits
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._rolled_back()
            return False
        return True

    def _run_guarded(self, item: Pending) -> None:
        connection = self._connection
        connection.execute("SAVEPOINT item")
        try:
            item.run(connection)
        except Exception as error:
            # A full disk ends the whole transaction by itself: then there is nothing left to go back to.
            if not connection.in_transaction:
                raise
            connection.execute("ROLLBACK TO item")
            item.fail(_typed(error))
        connection.execute("RELEASE item")

    def _commit(self, batch: list[Pending]) -> None:
        started = time.monotonic()
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._abandon(batch, error)
            return
        spent = time.monotonic() - started
        self._commit_seconds += (spent - self._commit_seconds) * _SMOOTHING

    def _abandon(self, batch: list[Pending], error: Exception) -> None:
        # If even this fails, the transaction is still not committed, and the next BEGIN says that all is not well.
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        for item in batch:
            item.fail(_typed(error))
        _guarded(self._rolled_back)


def _guarded(hook: Callable[[], None]) -> None:
    """Run what others want done beside a write. If it fails, those who wait and the writes to come must not suffer."""
    try:
        hook()
    except Exception as error:  # noqa: BLE001 - only its kind is told: its text may show what was written
        _log.error("what follows a write has failed: %s", type(error).__name__)


def _typed(error: Exception) -> Exception:
    return translate(error) if isinstance(error, sqlite3.Error) else error
