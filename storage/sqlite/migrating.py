"""Migrating a data folder. A gateway does so by itself when it starts; this is for looking first."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.errors import NotFound
from storage.sqlite.connection import DATABASE_NAME, FolderLock, connect_writer
from storage.sqlite.failures import translated
from storage.sqlite.upgrade import prepare_schema, stored_revision


def upgrade(data_dir: Path) -> str | None:
    """Bring a data folder to this release's schema, making it where it is missing. Returns the revision that was found.

    Raises `DataFolderInUse`, `SchemaMismatch`, `StorageUnavailable`.
    """
    lock = FolderLock(data_dir)
    try:
        with translated():
            connection = connect_writer(data_dir / DATABASE_NAME)
            try:
                found = stored_revision(connection)
                prepare_schema(connection, data_dir / DATABASE_NAME)
            finally:
                connection.close()
    finally:
        lock.release()
    return found


def status(data_dir: Path) -> str | None:
    """The revision of a data folder's schema, None where there is none. Changes nothing.

    Raises `NotFound` without a data folder, `SchemaMismatch`, `StorageUnavailable`.
    """
    if not data_dir.is_dir():
        raise NotFound("there is no such data folder")
    path = data_dir / DATABASE_NAME
    if not path.exists():
        return None
    with translated(), _reading(path) as connection:
        return stored_revision(connection)


def sql(data_dir: Path) -> str:
    """What `upgrade` would do, as SQL; "" for nothing. Raises as `status` does."""
    from storage.sql.migrate import statements  # Alembic costs a second to import

    return statements("sqlite", status(data_dir))


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        yield connection
    finally:
        connection.close()
