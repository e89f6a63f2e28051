"""Make the stored schema the one of this release: nothing to do, create it, or migrate it in a process of its own."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

from storage.errors import SchemaMismatch
from storage.sql.revision import REVISION


def prepare_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the database to `REVISION`. Raises `SchemaMismatch` where it is newer or cannot be brought there."""
    found = stored_revision(connection)
    if found == REVISION:
        return
    if found is None:
        _create(connection)
    elif found > REVISION:
        raise SchemaMismatch(
            f"the data is of schema {found}, this release knows {REVISION}; use a newer release"
        )
    else:
        _migrate(connection, path)


def stored_revision(connection: sqlite3.Connection) -> str | None:
    """The schema's revision; None for an empty database. Raises `SchemaMismatch` for tables of somebody else."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return None
    if "alembic_version" in tables:
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        if row is not None:
            return str(row[0])
    raise SchemaMismatch("the data folder holds a database without a schema revision; choose another folder")


def _create(connection: sqlite3.Connection) -> None:
    # An empty database needs no migrations: the metadata is the newest schema (a test holds them equal).
    from storage.sql.ddl import creation_statements

    connection.execute("BEGIN IMMEDIATE")
    for statement in creation_statements():
        connection.execute(statement)
    connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
    connection.execute("INSERT INTO alembic_version VALUES (?)", (REVISION,))
    connection.execute("COMMIT")


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    program = [sys.executable, "-m", "storage.sql.migrate", f"sqlite:///{quote(str(path))}"]
    # The other process finds our packages where this one found them.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(program, capture_output=True, check=False, env=environment)  # noqa: S603 - our own program
    if done.returncode or stored_revision(connection) != REVISION:
        raise SchemaMismatch(
            f"the stored schema could not be brought to {REVISION}; run python -m storage.sql.migrate to see why"
        )
