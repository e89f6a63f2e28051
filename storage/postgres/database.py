"""The open database: look-ups in one round trip, longer reads of one state, and atomic writes.

A write that was begun is done even if its caller goes away, as on SQLite: what follows it in memory must not be missed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import asyncpg

from storage.errors import StorageError
from storage.postgres.connections import Connections
from storage.postgres.failures import Conflict, translated
from storage.postgres.statements import statement_of
from storage.postgres.transactions import transact
from storage.sql.engine import Connection, Row, Scope, Value

T = TypeVar("T")

SLICE_ROWS: Final = 256
"""Rows that are decoded before others get their turn."""
ATTEMPTS: Final = 5
"""How often a write is tried that meets another one."""
_READY: Final = """SELECT count(*) FROM alembic_version
    WHERE NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'"""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long this process waits for the server, in seconds: for a look-up, a step of a longer read, a write, a heavy
    write, and an append of traces. Each includes the wait for a connection."""

    read: float = 1.0
    load: float = 5.0
    write: float = 2.0
    heavy: float = 10.0
    append: float = 1.0


class PostgresDatabase:
    """The protocol `storage.sql.engine.Database`. Belongs to one event loop."""

    def __init__(self, connections: Connections, timeouts: Timeouts) -> None:
        self._connections, self._timeouts = connections, timeouts
        self._writes: set[asyncio.Task[Any]] = set()
        self._thread = ThreadPoolExecutor(1, "muniment-compute")

    async def row(self, tenant_id: str, statement: str, parameters: Sequence[Value]) -> Row | None:
        """The first row."""
        text = statement_of(statement).look_up
        found = await self._connections.use(
            self._timeouts.read, lambda driver: driver.fetchrow(text, *parameters, tenant_id)
        )
        return None if found is None else tuple(found)

    async def rows(self, tenant_id: str, statement: str, parameters: Sequence[Value]) -> list[Row]:
        """All rows."""
        text = statement_of(statement).look_up
        found = await self._connections.use(
            self._timeouts.read, lambda driver: driver.fetch(text, *parameters, tenant_id)
        )
        return [tuple(row) for row in found]

    @asynccontextmanager
    async def snapshot(self, tenant_id: str) -> AsyncIterator["Snapshot"]:
        """A read-only transaction of one state of the data."""
        seconds = self._timeouts.load
        with translated():
            async with self._connections.hold(seconds) as driver:
                snapshot = Snapshot(driver, tenant_id, seconds)
                await snapshot.say("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                try:
                    yield snapshot
                except Exception:
                    await snapshot.say("ROLLBACK")
                    raise
                await snapshot.say("COMMIT")

    async def write(
        self,
        scope: Scope,
        body: Callable[[Connection], T],
        committed: Callable[[T], None] | None = None,
        heavy: bool = False,
    ) -> T:
        """One atomic, durable step. A time-out leaves it open whether it was done; a request id makes a repeat safe."""
        task = asyncio.ensure_future(self._write(scope, body, committed, heavy))
        self._writes.add(task)
        task.add_done_callback(self._done)
        return await asyncio.shield(task)

    async def remove(
        self,
        scope: Scope,
        body: Callable[[Connection], T],
        committed: Callable[[T], None] | None = None,
        heavy: bool = False,
    ) -> T:
        """A write: Postgres keeps room of its own for what removes."""
        return await self.write(scope, body, committed, heavy)

    async def _write(
        self,
        scope: Scope,
        body: Callable[[Connection], T],
        committed: Callable[[T], None] | None,
        heavy: bool,
    ) -> T:
        seconds = self._timeouts.heavy if heavy else self._timeouts.write
        result = await retried(
            lambda: self._connections.use(seconds, lambda driver: transact(driver, scope, body))
        )
        if committed is not None:
            committed(result)
        return result

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._writes.discard(task)
        if not task.cancelled():
            # Whoever waited has it; where nobody does any more, it is not worth a line in a log.
            task.exception()

    async def compute(self, work: Callable[[], T]) -> T:
        """Run a computation that takes long beside the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def scrub(self) -> None:
        """Nothing to do: what Postgres keeps of deleted rows, it removes by itself."""

    async def ready(self) -> bool:
        """Whether reads work, and writes are not forbidden."""
        try:
            row = await self.row("", _READY, ())
        except StorageError:
            return False
        return row is not None and row[0] == 1

    async def close(self) -> None:
        """Do what was begun, then let go of everything."""
        if self._writes:
            await asyncio.wait(self._writes)
        await self._connections.close()
        self._thread.shutdown()


class Snapshot:
    """The protocol `storage.sql.engine.Snapshot`."""

    def __init__(self, driver: asyncpg.Connection, tenant_id: str, seconds: float) -> None:
        self._driver, self._tenant_id, self._seconds = driver, tenant_id, seconds

    async def say(self, command: str) -> None:
        """Run a command without parameters."""
        async with asyncio.timeout(self._seconds):
            await self._driver.execute(command)

    async def row(self, statement: str, parameters: Sequence[Value]) -> Row | None:
        """The first row."""
        rows = await self._fetch(statement, parameters)
        return tuple(rows[0]) if rows else None

    async def rows(self, statement: str, parameters: Sequence[Value], decode: Callable[..., T]) -> list[T]:
        """All rows through `decode`; lets others run after each slice."""
        rows = await self._fetch(statement, parameters)
        decoded: list[T] = []
        for start in range(0, len(rows), SLICE_ROWS):
            decoded.extend(decode(*row) for row in rows[start : start + SLICE_ROWS])
            if start + SLICE_ROWS < len(rows):
                await asyncio.sleep(0)
        return decoded

    async def _fetch(self, statement: str, parameters: Sequence[Value]) -> list[asyncpg.Record]:
        text = statement_of(statement).look_up
        async with asyncio.timeout(self._seconds):
            rows: list[asyncpg.Record] = await self._driver.fetch(text, *parameters, self._tenant_id)
        return rows


async def retried(attempt: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Do a step that met another one again, which then finds out what the other has written."""
    for _ in range(ATTEMPTS - 1):
        with suppress(Conflict):
            return await attempt()
    return await attempt()
