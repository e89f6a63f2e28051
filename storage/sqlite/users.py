"""Users' pseudonyms on SQLite."""

import sqlite3
from typing import Final

from assemblers.records import UserRef
from storage.lru import Lru
from storage.sqlite.counters import ensure_user
from storage.sqlite.database import Database

_KEPT: Final = 100_000
_FIND = "SELECT pseudonym FROM users WHERE tenant_id = ? AND user_id = ?"


class SqliteUsers:
    """The port `UserStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: Lru[UserRef, str] = Lru(_KEPT)

    def peek(self, user: UserRef) -> str | None:
        """The pseudonym if it is in memory."""
        return self._known.get(user)

    async def pseudonym(self, user: UserRef) -> str:
        """The user's pseudonym, made durable on first use."""
        known = self._known.get(user)
        if known is None:
            row = self._database.row(_FIND, (user.tenant_id, user.user_id))
            known = (
                str(row[0])
                if row
                else await self._database.write(lambda connection: _create(connection, user))
            )
            self._known.put(user, known)
        return known


def _create(connection: sqlite3.Connection, user: UserRef) -> str:
    ensure_user(connection, user)
    # Somebody may have been faster; then theirs counts.
    row = connection.execute(_FIND, (user.tenant_id, user.user_id)).fetchone()
    return str(row[0])
