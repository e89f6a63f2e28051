"""Remove what has expired, a little after many writes. Reading never depends on it: expiry is checked there.

A sweep is a step of its own, beside the writes: nobody waits for it, and on a database that several processes write it
holds nothing that a write needs for longer than it takes.
"""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from storage.errors import StorageError
from storage.lru import Lru
from storage.sql.columns import to_micros
from storage.sql.engine import Connection, Database, tenant_scope

_WRITES: Final = 64
_ROWS: Final = 128
_TENANTS: Final = 4_096
# A clock that jumped ahead by two hours must not take away what is still needed when it is set right again.
_GRACE: Final = timedelta(hours=3)

_KEYS: Final = {
    "receipts": "tenant_id, method, request_id",
    "turns": "tenant_id, user_id, session_id, turn_no",
}
STATEMENTS: Final = tuple(
    f"DELETE FROM {table} WHERE ({key}) IN "
    f"(SELECT {key} FROM {table} WHERE tenant_id = ? AND expire_time <= ? LIMIT {_ROWS})"
    for table, key in _KEYS.items()
)


class Retention:
    """Counts each tenant's writes; every so often it removes some of the tenant's expired rows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writes: Lru[str, int] = Lru(_TENANTS)
        self._sweeps: set[asyncio.Task[None]] = set()
        self._closed = False

    def wrote(self, tenant_id: str, now: datetime) -> None:
        """A write of this tenant is done; begins a sweep if it is time."""
        writes = (self._writes.get(tenant_id) or 0) + 1
        self._writes.put(tenant_id, writes)
        if writes % _WRITES == 0 and not self._closed:
            task = asyncio.create_task(self._sweep(tenant_id, to_micros(now - _GRACE)))
            self._sweeps.add(task)
            task.add_done_callback(self._sweeps.discard)

    async def close(self) -> None:
        """Begin no more sweeps, and wait for those under way."""
        self._closed = True
        await asyncio.gather(*self._sweeps)

    async def _sweep(self, tenant_id: str, until: int) -> None:
        def body(connection: Connection) -> None:
            for statement in STATEMENTS:
                connection.execute(statement, (tenant_id, until))

        # What fails now is swept another time. Not as a removal: what is kept for those is not for upkeep.
        with suppress(StorageError):
            await self._database.write(tenant_scope(tenant_id, "retention"), body)
