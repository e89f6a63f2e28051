"""Opening a data folder as a `Storage`."""

import asyncio
import sqlite3
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from storage.encryption import KeyProvider
from storage.encryption.embedded import embedded_provider
from storage.errors import StorageFull
from storage.memory import MemorySessions
from storage.ports import (
    SessionCache,
    TraceStore,
)
from storage.ports.epochs import Announcer
from storage.sql.engine import Database
from storage.sql.epochs import Unannounced
from storage.sql.stores import SqlStores
from storage.sqlite.checkpoints import Checkpoints, empty_log
from storage.sqlite.connection import DATABASE_NAME, FolderLock, connect_writer
from storage.sqlite.database import SqliteDatabase
from storage.sqlite.failures import translate, translated
from storage.sqlite.reserve import Reserve
from storage.sqlite.traces import ChainHeads, SqliteTraces
from storage.sqlite.upgrade import prepare_schema
from storage.sqlite.writer import Writer


class SqliteStorage(SqlStores):
    """The port `Storage` on a data folder. Also an async context manager, which closes it."""

    def __init__(
        self,
        lock: FolderLock,
        connection: sqlite3.Connection,
        path: Path,
        sessions: SessionCache,
        reserve: Reserve,
        announcer: Announcer,
        provider: KeyProvider,
    ) -> None:
        heads = ChainHeads()
        self._lock, self._connection, self._closed = lock, connection, False
        self._writer = Writer(connection, heads.forget)
        self._checkpoints = Checkpoints(path, self._writer)
        self._writer.on_commit(self._checkpoints.committed)
        self._database = database = SqliteDatabase(path, self._writer, reserve, self._checkpoints.scrub)
        super().__init__(database, announcer, provider)
        self.traces: TraceStore = SqliteTraces(database, self.keys, heads, self._retention)
        self.sessions = sessions
        # A process that was killed may have left deleted content in the log.
        self._checkpoints.scrub()

    @property
    def database(self) -> Database:
        """The engine, for what concerns all stores at once, such as the rotation of keys."""
        return self._database

    async def ready(self) -> bool:
        """Whether reads and writes work now. Not so from the first write that met a full disk until one succeeds, or
        there is room again for as much as is kept in reserve."""
        return await self._database.ready()

    @property
    def waiting_writes(self) -> int:
        """How many writes wait for a transaction."""
        return self._writer.depth

    async def close(self) -> None:
        """Finish what was accepted and let go of everything."""
        if self._closed:
            return
        self._closed = True
        await self._retention.close()
        await self._checkpoints.close()
        await self._writer.close()
        self._database.close()
        # Where this fails nothing is lost: the log holds it, and the next start empties it.
        with suppress(sqlite3.Error):
            empty_log(self._connection)
        self._connection.close()
        self._lock.release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


async def open_sqlite(
    data_dir: Path,
    sessions: SessionCache | None = None,
    announcer: Announcer | None = None,
    provider: KeyProvider | None = None,
) -> SqliteStorage:
    """Open a data folder, which is created if need be, with a session cache (default: in this process).

    `announcer` is told of each change; None: nobody else has to know. `provider` holds the master key; None: the
    folder itself does (see `storage.encryption.embedded`).

    Raises `DataFolderInUse`, `SchemaMismatch`, `StorageFull`, `KeyFileError`, or `StorageUnavailable`, as which a
    missing or wrong master key counts too.
    """
    lock = FolderLock(data_dir)
    try:
        path = data_dir / DATABASE_NAME
        reserve = Reserve(data_dir)
        connection = await _open_with(reserve, path)
        reserve.keep()
        with translated():
            if provider is None:
                provider = embedded_provider(data_dir, _has_keys(connection))
            storage = SqliteStorage(
                lock,
                connection,
                path,
                sessions or MemorySessions(),
                reserve,
                announcer or Unannounced(),
                provider,
            )
    except BaseException:
        lock.release()
        raise
    try:
        await storage.keys.check()
    except BaseException:
        await storage.close()
        raise
    return storage


def _has_keys(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM master_keys").fetchone() is not None


async def _open_with(reserve: Reserve, path: Path) -> sqlite3.Connection:
    """Open the database. On a full disk that takes the reserve, since SQLite's shared memory is a file as well."""
    with translated():
        try:
            return await asyncio.to_thread(_open, path)
        except sqlite3.Error as error:
            if not (isinstance(translate(error), StorageFull) and reserve.give_up()):
                raise
        return await asyncio.to_thread(_open, path)


def _open(path: Path) -> sqlite3.Connection:
    connection = connect_writer(path)
    try:
        prepare_schema(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection
