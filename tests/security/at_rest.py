"""A store as a thief finds it: all that lies on its disk, and a hand that can change it."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import asyncpg

from storage.encryption import FileKeyProvider
from storage.postgres import open_postgres
from storage.postgres.factory import PostgresStorage
from storage.sqlite import open_sqlite
from storage.sqlite.connection import DATABASE_NAME
from storage.sqlite.factory import SqliteStorage
from tests.servers import PostgresDatabase

Value = str | int | bytes | None
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"


class AtRest(Protocol):
    """A backend with the file of its master keys, which the thief does not have."""

    key_file: Path

    async def open(self, key_file: Path | None = None) -> SqliteStorage | PostgresStorage: ...
    async def everything(self) -> bytes:
        """All bytes that are stored."""
        ...

    async def change(self, statement: str, *parameters: Value) -> None:
        """Change what is stored, past all locks. Parameters are `$1`, `$2`."""
        ...

    async def look(self, statement: str) -> list[tuple[Value, ...]]: ...


@dataclass(slots=True)
class SqliteAtRest:
    folder: Path
    key_file: Path

    async def open(self, key_file: Path | None = None) -> SqliteStorage:
        return await open_sqlite(self.folder, provider=FileKeyProvider(key_file or self.key_file))

    async def everything(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.folder.iterdir()))

    async def change(self, statement: str, *parameters: Value) -> None:
        with sqlite3.connect(self.folder / DATABASE_NAME) as connection:
            connection.execute(statement.replace("$", "?"), parameters)
        connection.close()

    async def look(self, statement: str) -> list[tuple[Value, ...]]:
        connection = sqlite3.connect(self.folder / DATABASE_NAME)
        try:
            return connection.execute(statement).fetchall()
        finally:
            connection.close()


@dataclass(slots=True)
class PostgresAtRest:
    database: PostgresDatabase
    key_file: Path

    async def open(self, key_file: Path | None = None) -> PostgresStorage:
        return await open_postgres(self.database.url, FileKeyProvider(key_file or self.key_file))

    async def everything(self) -> bytes:
        connection = await asyncpg.connect(self.database.superuser_url)
        try:
            await connection.execute("CHECKPOINT")
            names = [row[0] for row in await connection.fetch(_TABLES)]
            rows = [row for name in names for row in await connection.fetch(f'SELECT * FROM "{name}"')]
            cells = b"\0".join(_bytes_of(value) for row in rows for value in row)
            folder = Path(await connection.fetchval("SHOW data_directory"))
            return cells + _files_of(folder)
        finally:
            await connection.close()

    async def change(self, statement: str, *parameters: Value) -> None:
        connection = await asyncpg.connect(self.database.superuser_url)
        try:
            await connection.execute(statement, *parameters)
        finally:
            await connection.close()

    async def look(self, statement: str) -> list[tuple[Value, ...]]:
        connection = await asyncpg.connect(self.database.superuser_url)
        try:
            return [tuple(row) for row in await connection.fetch(statement)]
        finally:
            await connection.close()


def _bytes_of(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _files_of(folder: Path) -> bytes:
    """Heaps, indexes and the write-ahead log, where the server is on this machine."""
    if not folder.is_dir():
        return b""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
