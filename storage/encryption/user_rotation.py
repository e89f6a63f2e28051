"""A new data key for one user, while gateways go on serving it.

Gateways hold a user's key for `FRESH_SECONDS`. So the new version is first made known (it opens, nobody seals under
it); once every gateway must have seen it, it is activated; once none can seal under the old one any more, the rows are
sealed anew; then the old version is retired. What lies outside of SQL under it (session slots, for 30 days at most)
still opens, until the version is removed by a later run. Each step is durable by itself: a run that was cut off is
finished by the next one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from assemblers.records import UserRef
from storage.encryption.key_cache import FRESH_SECONDS
from storage.encryption.key_ring import KeyRing, new_user_key
from storage.encryption.key_rows import UserKey, add_user_key, read_user_keys
from storage.encryption.resealing import count_under, reseal_rows
from storage.errors import NotFound
from storage.sql.columns import to_micros
from storage.sql.engine import Connection, Database, user_scope

SETTLE_SECONDS: Final = FRESH_SECONDS + 15.0
"""From a change of keys until no call can be under way any more that began before it: the longest call takes 10 s."""
KEPT: Final = timedelta(days=31)
"""How long a retired version stays: longer than anything lives outside of SQL that was sealed under it."""

_ACTIVATE: Final = """UPDATE user_keys SET activate_time = ?
    WHERE tenant_id = ? AND user_id = ? AND key_no = ? AND activate_time IS NULL"""
_RETIRE: Final = """UPDATE user_keys SET retire_time = ?
    WHERE tenant_id = ? AND user_id = ? AND key_no < ? AND retire_time IS NULL"""
_REMOVE: Final = (
    "DELETE FROM user_keys WHERE tenant_id = ? AND user_id = ? AND key_no = ? AND retire_time <= ?"
)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait for other processes (seconds), and how long retired versions stay. `alone`: there are none."""

    settle_seconds: float = SETTLE_SECONDS
    kept: timedelta = KEPT


ALONE: Final = Pace(0.0, timedelta(0))
"""No other process has the database open, and nothing outside of it is sealed."""


@dataclass(frozen=True, slots=True)
class Rotated:
    """What a rotation did: the version that seals now, how many values were sealed anew, which versions are gone."""

    key_no: int
    resealed: int
    removed: tuple[int, ...]


class UserRotation:
    """The rotation of users' keys on one database."""

    def __init__(
        self,
        database: Database,
        ring: KeyRing,
        now: Callable[[], datetime],
        pace: Pace = Pace(),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`now` dates the steps; `sleep` takes seconds."""
        self._database, self._ring, self._now, self._pace, self._sleep = database, ring, now, pace, sleep

    async def rotate(self, user: UserRef) -> Rotated:
        """Give the user a new key, or finish a rotation that was cut off.

        Raises `NotFound` for a user for whom nothing was ever sealed.
        """
        keys = await read_user_keys(self._database, user)
        if not keys:
            raise NotFound("the user has no key, so nothing is encrypted under one")
        if not _under_way(keys):
            await self._publish(user, keys[-1].key_no + 1)
        await self._activate(user)
        resealed = await self._reseal(user)
        return Rotated((await self._keys(user))[-1].key_no, resealed, await self._remove_old(user))

    async def _keys(self, user: UserRef) -> list[UserKey]:
        return await read_user_keys(self._database, user)

    async def _publish(self, user: UserRef, key_no: int) -> None:
        tenant = await self._ring.tenant_for_writing(user.tenant_id)
        await add_user_key(
            self._database, user, new_user_key(user, key_no, tenant, None), to_micros(self._now())
        )

    async def _activate(self, user: UserRef) -> None:
        newest = (await self._keys(user))[-1]
        if newest.activate_time is None:
            await self._sleep(self._pace.settle_seconds)
            await self._execute(
                user, _ACTIVATE, to_micros(self._now()), user.tenant_id, user.user_id, newest.key_no
            )

    async def _reseal(self, user: UserRef) -> int:
        await self._sleep(self._pace.settle_seconds)
        self._ring.forget(user)
        key = await self._ring.for_writing(user)
        resealed = await reseal_rows(self._database, user, key)
        await self._execute(user, _RETIRE, to_micros(self._now()), user.tenant_id, user.user_id, key.key_no)
        return resealed

    async def _remove_old(self, user: UserRef) -> tuple[int, ...]:
        removed = []
        until = to_micros(self._now() - self._pace.kept)
        for key in await self._keys(user):
            if key.retire_time is None or key.retire_time > until:
                continue
            if await count_under(self._database, user, key.key_no):
                continue
            await self._execute(user, _REMOVE, user.tenant_id, user.user_id, key.key_no, until)
            removed.append(key.key_no)
        self._ring.forget(user)
        return tuple(removed)

    async def _execute(self, user: UserRef, statement: str, *parameters: str | int) -> None:
        def body(connection: Connection) -> None:
            connection.execute(statement, parameters)

        await self._database.write(user_scope(user), body)


def _under_way(keys: list[UserKey]) -> bool:
    """Whether a rotation was begun and not finished."""
    return keys[-1].activate_time is None or any(key.retire_time is None for key in keys[:-1])
