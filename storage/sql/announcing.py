"""Tells other processes what a write has changed, once it is durable and before it is acknowledged.

Also where the write turns out to be a repeat: the process that did it may have died between its commit and its
announcement, and whoever gets the repeat's answer may rely on it as on any other.
"""

from collections.abc import Awaitable
from typing import TypeVar

from assemblers.records import UserRef
from storage.errors import Repeated
from storage.ports.epochs import Announcer
from storage.sql.engine import Database
from storage.sql.epochs import SqlEpochs
from storage.sql.writing import Done

T = TypeVar("T")


class Announcements:
    """Around the writes of the stores. Errors are those of the write; a repeat may raise `StorageUnavailable` too."""

    def __init__(self, announcer: Announcer, database: Database) -> None:
        self._announcer, self._epochs = announcer, SqlEpochs(database)

    async def of_facts(self, user: UserRef, write: Awaitable[Done[T]]) -> T:
        """The result of a write of a user's facts."""
        done = await self._of_user(user, write)
        if done.epoch is not None:
            await self._announcer.user_changed(user, done.epoch, None)
        return done.result

    async def of_archive(self, user: UserRef, write: Awaitable[Done[T]]) -> T:
        """The result of a write of a user's archive."""
        done = await self._of_user(user, write)
        if done.epoch is not None:
            await self._announcer.user_changed(user, None, done.epoch)
        return done.result

    async def of_tenant(self, tenant_id: str, write: Awaitable[Done[T]]) -> T:
        """The result of a write of what belongs to a tenant."""
        try:
            done = await write
        except Repeated:
            epochs = await self._epochs.read(UserRef(tenant_id, ""))
            await self._announcer.tenant_changed(tenant_id, epochs.tenant)
            raise
        if done.epoch is not None:
            await self._announcer.tenant_changed(tenant_id, done.epoch)
        return done.result

    async def _of_user(self, user: UserRef, write: Awaitable[Done[T]]) -> Done[T]:
        try:
            return await write
        except Repeated:
            epochs = await self._epochs.read(user)
            await self._announcer.user_changed(user, epochs.facts, epochs.archive)
            raise
