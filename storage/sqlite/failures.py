"""SQLite's errors as ours: the code decides, the driver's text stays out."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from storage.errors import StorageDamaged, StorageError, StorageFull, StorageUnavailable

# The file of the shared memory could not grow, for which SQLite has no code of its own.
_FULL = (sqlite3.SQLITE_IOERR_SHMSIZE,)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def translate(error: sqlite3.Error) -> StorageError:
    """The typed error for a failure of the driver."""
    # Extended codes carry the primary one in their low byte. Errors of the module itself carry none.
    extended = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    code = extended & 0xFF
    if code == sqlite3.SQLITE_FULL or extended in _FULL:
        return StorageFull("the disk is full")
    if code in _DAMAGED:
        return StorageDamaged("the database is damaged, or none of ours: restore it from a backup")
    return StorageUnavailable("the store does not answer")


@contextmanager
def translated() -> Iterator[None]:
    """Let the driver's errors out as ours only."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error) from error
