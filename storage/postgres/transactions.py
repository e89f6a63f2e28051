"""A transaction as the bodies of the stores see it: plain calls, each of which waits in a greenlet for the server."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import asyncpg
from sqlalchemy.util import await_only, greenlet_spawn

from storage.postgres.statements import statement_of
from storage.sql.engine import Connection, Row, Scope, Value

T = TypeVar("T")

# Tenant and lock in one round trip. The lock comes first in time for every statement behind it: each of them sees what
# the transaction before has committed.
_BIND: Final = "SELECT set_config('muniment.tenant', $1, true)"
_BIND_AND_LOCK: Final = f"{_BIND}, pg_advisory_xact_lock(hashtextextended($2, 0))"


@dataclass(slots=True)
class Found:
    """What a statement gave: its rows, or how many it touched."""

    rowcount: int
    rows: list[Row] = field(default_factory=list)
    _next: int = 0

    def fetchone(self) -> Row | None:
        """The next row."""
        if self._next >= len(self.rows):
            return None
        self._next += 1
        return self.rows[self._next - 1]

    def fetchall(self) -> list[Row]:
        """The rows that are left."""
        rest = self.rows[self._next :]
        self._next = len(self.rows)
        return rest


class Transaction:
    """An open transaction. Only called within `transact`."""

    def __init__(self, driver: asyncpg.Connection) -> None:
        self._driver = driver

    def execute(self, written: str, parameters: Sequence[Value] = ()) -> Found:
        """Run a statement of the stores."""
        statement = statement_of(written)
        if statement.gives_rows:
            rows = [tuple(row) for row in await_only(self._driver.fetch(statement.text, *parameters))]
            return Found(len(rows), rows)
        status: str = await_only(self._driver.execute(statement.text, *parameters))
        # "INSERT 0 3", "UPDATE 3", "DELETE 3"
        return Found(int(status.rpartition(" ")[2]))


async def transact(driver: asyncpg.Connection, scope: Scope, body: Callable[[Connection], T]) -> T:
    """Run a body in a transaction of its own, bound to its tenant and under its lock, and commit it.

    What the body raises undoes it all; if even that fails, who holds the connection sees it in a transaction still.
    """
    await driver.execute("BEGIN")
    try:
        if scope.lock is None:
            await driver.fetch(_BIND, scope.tenant_id)
        else:
            await driver.fetch(_BIND_AND_LOCK, scope.tenant_id, scope.lock.decode())
        result = await greenlet_spawn(body, Transaction(driver))
    except Exception:
        await driver.execute("ROLLBACK")
        raise
    await driver.execute("COMMIT")
    return result
