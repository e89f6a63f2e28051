"""Remove what has expired, a little with each of many writes. Reading never depends on it: expiry is checked there."""

import sqlite3
from datetime import timedelta
from typing import Final

_WRITES: Final = 64
_ROWS: Final = 128
# A clock that jumped ahead by two hours must not take away what is still needed when it is set right again.
_GRACE: Final = timedelta(hours=3) // timedelta(microseconds=1)

_KEYS: Final = {
    "receipts": "tenant_id, method, request_id",
    "turns": "tenant_id, user_id, session_id, turn_no",
}
_STATEMENTS: Final = tuple(
    f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE expire_time <= ? LIMIT {_ROWS})"
    for table, key in _KEYS.items()
)


class Retention:
    """Counts writes; every so often one of them also removes expired rows."""

    def __init__(self) -> None:
        self._writes = 0

    def sweep(self, connection: sqlite3.Connection, now_micros: int) -> None:
        """Remove some expired rows if it is time, within the caller's transaction."""
        self._writes += 1
        if self._writes % _WRITES == 0:
            for statement in _STATEMENTS:
                connection.execute(statement, (now_micros - _GRACE,))
