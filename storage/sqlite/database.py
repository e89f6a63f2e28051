"""The open database: look-ups in place, longer reads in slices, writes through the writer.

There is one process and one writer, so a tenant need not be bound and a scope's lock is always held.

Longer reads do not go to threads: the driver lets go of the interpreter lock at each row, and has to win it back from
a busy event loop each time. Beside a loop that was never idle, 700 excerpts took 32 ms in a thread and 13 ms in the
loop itself, `SLICE_ROWS` rows at a time, within one transaction on a connection of their own.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

from storage.errors import StorageError, StorageFull
from storage.sql.engine import Connection, Row, Scope, Value
from storage.sqlite.connection import connect_reader
from storage.sqlite.failures import translate, translated
from storage.sqlite.reserve import Reserve
from storage.sqlite.writer import Writer

T = TypeVar("T")

SLICE_ROWS: Final = 256
"""Rows that are read before others get their turn."""
_READERS: Final = 4


class SqliteDatabase:
    """The engine `Database`: one reading connection for look-ups, a few for longer reads, and the writer."""

    def __init__(self, path: Path, writer: Writer, reserve: Reserve, scrub: Callable[[], None]) -> None:
        """`scrub` sees to it that no copy of deleted content stays in the log."""
        self._path, self._writer, self._reserve, self._closed = path, writer, reserve, False
        self.scrub = scrub
        self._reader = connect_reader(path)
        self._free: list[sqlite3.Connection] = []
        self._readers = asyncio.Semaphore(_READERS)
        self._thread = ThreadPoolExecutor(1, "muniment-compute")

    async def row(self, _tenant_id: str, statement: str, parameters: Sequence[Value], /) -> Row | None:
        """The first row, read in place: for look-ups by key only."""
        return self._row(statement, parameters)

    def _row(self, statement: str, parameters: Sequence[Value]) -> Row | None:
        try:
            row: Row | None = self._reader.execute(statement, parameters).fetchone()
        except sqlite3.Error as error:
            raise translate(error) from error
        return row

    async def rows(self, _tenant_id: str, statement: str, parameters: Sequence[Value], /) -> list[Row]:
        """All rows, read in place: for a handful only."""
        with translated():
            return self._reader.execute(statement, parameters).fetchall()

    @asynccontextmanager
    async def snapshot(self, _tenant_id: str, /) -> AsyncIterator["SqliteSnapshot"]:
        """A longer read that sees one state of the data from beginning to end."""
        async with self._readers:
            with translated():
                connection = self._free.pop() if self._free else connect_reader(self._path)
                try:
                    connection.execute("BEGIN")
                    yield SqliteSnapshot(connection)
                finally:
                    self._give_back(connection)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if self._closed:
            connection.close()
            return
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        self._free.append(connection)

    async def write(
        self,
        _scope: Scope,
        body: Callable[[Connection], T],
        /,
        committed: Callable[[T], None] | None = None,
        heavy: bool = False,
    ) -> T:
        """One atomic, durable step. `committed` runs before anybody learns of the result.

        What the reserve gave up is not for it: while the reserve is lent it raises `StorageFull`.
        """
        if self._reserve.lent and not self._reserve.recover():
            raise StorageFull("the disk is full")
        result = await self._attempt(body, committed or _nothing, heavy)
        self._reserve.short = False
        return result

    async def remove(
        self,
        _scope: Scope,
        body: Callable[[Connection], T],
        /,
        committed: Callable[[T], None] | None = None,
        heavy: bool = False,
    ) -> T:
        """A write that takes something away. Where the disk is full it is given the reserve, and tried once more."""
        try:
            return await self._attempt(body, committed or _nothing, heavy)
        except StorageFull:
            if not self._reserve.give_up():
                raise
        return await self._attempt(body, committed or _nothing, heavy)

    async def ready(self) -> bool:
        """Whether writes work now, by one that changes nothing; after a full disk, once there is room again."""
        try:
            await self._writer.write(_probe, _nothing)
            self._row("SELECT 1", ())
        except StorageError:
            return False
        return self._reserve.recover()

    async def _attempt(
        self, body: Callable[[Connection], T], committed: Callable[[T], None], heavy: bool
    ) -> T:
        try:
            return await self._writer.write(body, committed, heavy)
        except StorageFull:
            self._reserve.short = True
            raise

    async def compute(self, work: Callable[[], T], /) -> T:
        """Run a computation that takes long beside the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def close(self) -> None:
        """Close the reading connections; one that is in use is closed after its use."""
        self._closed = True
        for connection in (self._reader, *self._free):
            connection.close()
        self._thread.shutdown()


class SqliteSnapshot:
    """The engine's `Snapshot`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def row(self, statement: str, parameters: Sequence[Value], /) -> Row | None:
        """The first row."""
        row: Row | None = self._connection.execute(statement, parameters).fetchone()
        return row

    async def rows(self, statement: str, parameters: Sequence[Value], decode: Callable[..., T], /) -> list[T]:
        """All rows through `decode`, which gets the columns as arguments; lets others run after each slice."""
        cursor = self._connection.execute(statement, parameters)
        decoded: list[T] = []
        while rows := cursor.fetchmany(SLICE_ROWS):
            decoded.extend(decode(*row) for row in rows)
            if len(rows) == SLICE_ROWS:
                await asyncio.sleep(0)
        return decoded


def _probe(connection: sqlite3.Connection) -> None:
    connection.execute("SELECT count(*) FROM alembic_version").fetchone()


def _nothing(_: object) -> None:
    """For writes that leave nothing behind in memory."""
