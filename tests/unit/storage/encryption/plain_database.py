"""The port `Database` in its plainest form: one SQLite connection, a turn of the loop before each step."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from storage.errors import StorageUnavailable
from storage.sql.ddl import creation_statements
from storage.sql.engine import Connection, Row, Scope, Value

T = TypeVar("T")


class PlainDatabase:
    """`down` makes it unavailable; `calls` counts what it was asked."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.execute("PRAGMA foreign_keys = ON")
        for statement in creation_statements():
            self.connection.execute(statement)
        self.down = False
        self.calls = 0

    async def row(self, _tenant_id: str, statement: str, parameters: Sequence[Value], /) -> Row | None:
        await self._turn()
        found: Row | None = self.connection.execute(statement, parameters).fetchone()
        return found

    async def rows(self, _tenant_id: str, statement: str, parameters: Sequence[Value], /) -> list[Row]:
        await self._turn()
        return self.connection.execute(statement, parameters).fetchall()

    @asynccontextmanager
    async def snapshot(self, _tenant_id: str, /) -> AsyncIterator["PlainSnapshot"]:
        await self._turn()
        yield PlainSnapshot(self.connection)

    async def write(
        self,
        scope: Scope,
        body: Callable[[Connection], T],
        committed: Callable[[T], None] | None = None,
        heavy: bool = False,
    ) -> T:
        await self._turn()
        self.connection.execute("BEGIN")
        try:
            result = body(self.connection)
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
        if committed is not None:
            committed(result)
        return result

    remove = write

    async def compute(self, work: Callable[[], T], /) -> T:
        return work()

    def scrub(self) -> None:
        """Nothing is in files."""

    def execute(self, statement: str, *parameters: Value) -> list[Row]:
        """For a test's own look."""
        return self.connection.execute(statement, parameters).fetchall()

    async def _turn(self) -> None:
        self.calls += 1
        await asyncio.sleep(0)
        if self.down:
            raise StorageUnavailable("down")


class PlainSnapshot:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def row(self, statement: str, parameters: Sequence[Value], /) -> Row | None:
        found: Row | None = self._connection.execute(statement, parameters).fetchone()
        return found

    async def rows(self, statement: str, parameters: Sequence[Value], decode: Callable[..., T], /) -> list[T]:
        return [decode(*row) for row in self._connection.execute(statement, parameters).fetchall()]
