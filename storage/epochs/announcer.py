"""Announces changes to the shared cache: each before its write is acknowledged, and again later where that failed.

A change that could not be announced is stale elsewhere for a second at most (see `storage.epochs.shared`), but only
while SQL answers those who ask. So it is announced anew each second until it arrived.
"""

import asyncio
from functools import partial
from typing import Final

from assemblers.records import UserRef
from storage.epochs.known import KnownEpochs
from storage.epochs.shared import SharedEpochs
from storage.errands import Errands
from storage.errors import StorageFull, StorageUnavailable

REPEAT_SECONDS: Final = 1.0
MAX_UNTOLD: Final = 10_000
"""Changes that wait to be announced; beyond that the oldest is left to the second it takes to be noticed."""

_Subject = UserRef | str


class SharedAnnouncer:
    """The port `Announcer` for several gateways. Belongs to one event loop."""

    def __init__(
        self, shared: SharedEpochs, known: KnownEpochs, repeat_seconds: float = REPEAT_SECONDS
    ) -> None:
        """`known` is what this process's `EpochBook` goes by."""
        self._shared, self._known, self._repeat_seconds = shared, known, repeat_seconds
        self._errands = Errands()
        self._untold: dict[_Subject, None] = {}
        self._repeating: asyncio.Task[None] | None = None

    @property
    def untold(self) -> int:
        """How many users and tenants have changes that could not be announced yet."""
        return len(self._untold)

    async def user_changed(self, user: UserRef, facts: int | None, archive: int | None) -> None:
        """The user's epochs are these; None for one that did not change."""
        self._known.raise_user(user, facts, archive)
        await self._tell_at_once(user)

    async def tenant_changed(self, tenant_id: str, epoch: int) -> None:
        """The tenant's epoch is this."""
        self._known.raise_tenant(tenant_id, epoch)
        await self._tell_at_once(tenant_id)

    async def close(self) -> None:
        """Give up what is under way."""
        await self._errands.close()

    async def _tell_at_once(self, subject: _Subject) -> None:
        # In a task of its own: a caller that gives up now must not take the announcement along.
        await asyncio.shield(self._errands.begin(partial(self._tell, subject)))

    async def _tell(self, subject: _Subject) -> bool:
        """Announce what this process knows to be the least of the subject; False: it did not arrive."""
        try:
            if isinstance(subject, UserRef):
                floor = self._known.floor(subject)
                await self._shared.announce_user(subject, floor.facts, floor.archive)
            else:
                await self._shared.announce_tenant(subject, self._known.tenant_floor(subject))
        except (StorageUnavailable, StorageFull):
            self._note(subject)
            return False
        return True

    def _note(self, subject: _Subject) -> None:
        self._untold[subject] = None
        if len(self._untold) > MAX_UNTOLD:
            del self._untold[next(iter(self._untold))]
        if self._repeating is None or self._repeating.done():
            self._repeating = self._errands.begin(self._repeat)

    async def _repeat(self) -> None:
        while self._untold:
            await asyncio.sleep(self._repeat_seconds)
            await self._tell_untold()

    async def _tell_untold(self) -> None:
        for subject in list(self._untold):
            # Before the attempt: a change that comes meanwhile and fails must note itself anew.
            self._untold.pop(subject, None)
            if not await self._tell(subject):
                return
