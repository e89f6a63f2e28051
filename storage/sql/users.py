"""Users' pseudonyms in SQL."""

from typing import Final

from assemblers.records import UserRef
from storage.lru import Lru
from storage.sql.counters import ensure_user
from storage.sql.engine import Connection, Database, user_scope

_KEPT: Final = 100_000
_FIND = "SELECT pseudonym FROM users WHERE tenant_id = ? AND user_id = ?"


class SqlUsers:
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
            known = await self._read_or_create(user)
            self._known.put(user, known)
        return known

    async def _read_or_create(self, user: UserRef) -> str:
        row = await self._database.row(user.tenant_id, _FIND, (user.tenant_id, user.user_id))
        if row is not None:
            return str(row[0])
        return await self._database.write(user_scope(user), lambda connection: _create(connection, user))


def _create(connection: Connection, user: UserRef) -> str:
    ensure_user(connection, user)
    # Somebody may have been faster; then theirs counts.
    ((pseudonym,),) = connection.execute(_FIND, (user.tenant_id, user.user_id)).fetchall()
    return str(pseudonym)
