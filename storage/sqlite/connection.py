"""Connections to the database file, and the lock on its folder."""

import fcntl
import os
import sqlite3
from pathlib import Path
from typing import Final

from storage.errors import DataFolderInUse, StorageUnavailable

DATABASE_NAME: Final = "muniment.db"

WAL_BYTES: Final = 32 * 2**20
"""What the log's file is cut to when it starts over after a large write. It stays well below that otherwise, since
cutting it means that it has to grow again (see `checkpoints`)."""
_BUSY_MILLISECONDS: Final = 2_000
_CACHED_STATEMENTS: Final = 512


class FolderLock:
    """The exclusive hold on a data folder by one process; the kernel lets go of it when the process dies."""

    def __init__(self, folder: Path) -> None:
        """Take the lock. Raises `DataFolderInUse`, or `StorageUnavailable` where the folder cannot be used."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageUnavailable("the data folder cannot be created or written") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise DataFolderInUse(
                "another process holds the data folder; stop it or choose another"
            ) from None

    def release(self) -> None:
        """Let go."""
        os.close(self._file)


def connect_writer(path: Path) -> sqlite3.Connection:
    """The one connection that writes. It may pass from thread to thread, one at a time."""
    connection = _connect(path)
    try:
        _configure_writer(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _configure_writer(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    # Deleted content is overwritten with zeros in the file; the checkpoint does the rest (see `writer`).
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
    # Checkpoints are made beside the writes, not inside of one of them (see `checkpoints`).
    connection.execute("PRAGMA wal_autocheckpoint = 0")


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write."""
    connection = _connect(path)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=_CACHED_STATEMENTS
    )
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -16384")
    return connection
