"""Reads and changes the slots of a session, which several turns may do at once."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple
from weakref import WeakValueDictionary

from assemblers.policy.model import Policy
from assemblers.records import SessionRef, Slots
from gateway.errors import Aborted, Reason
from storage.errors import StorageFull, StorageUnavailable
from storage.lru import Lru
from storage.ports import SessionCache, SessionState

ATTEMPTS = 8
"""How often a change is applied anew when other processes were faster, each of which made progress: this is plenty."""
KNOWN_SESSIONS = 100_000
"""Sessions of which it is remembered what was stored last: a number and an instant each."""


class _Stored(NamedTuple):
    revision: int
    expires: datetime


class SlotBook:
    """Reads and changes a session's slots without losing a concurrent update. One instance serves all use cases."""

    def __init__(self, cache: SessionCache) -> None:
        self._cache = cache
        self._stored: Lru[SessionRef, _Stored] = Lru(KNOWN_SESSIONS)
        self._turns: WeakValueDictionary[SessionRef, asyncio.Lock] = WeakValueDictionary()

    async def read(self, session: SessionRef, now: datetime) -> SessionState:
        """The state; revision 0 and empty slots where there is none or it expired."""
        return await self._cache.get(session, now) or SessionState(Slots(), 0)

    async def look(self, session: SessionRef, now: datetime) -> tuple[SessionState, bool]:
        """The state, and whether it is older than what this process had stored before it asked: the cache lost writes,
        as when a replica that was behind took over. A session that is not there at all began anew, and so did one that
        is of a lower revision but ends later."""
        # What is stored while the cache answers is no loss.
        stored = self._stored.get(session)
        state = await self.read(session, now)
        if stored is None or not 0 < state.revision < stored.revision:
            return state, False
        return state, state.expire_time is None or state.expire_time <= stored.expires

    async def put(
        self, session: SessionRef, policy: Policy, now: datetime, slots: Slots, expected_revision: int
    ) -> bool:
        """Store and touch the slots if nobody else changed them since that revision. Raises `StorageUnavailable`."""
        seconds = whole_seconds(policy.slots.ttl)
        try:
            stored = await self._cache.put(session, slots, expected_revision, now, seconds)
        except StorageFull:
            # Nobody can remove anything to make room in a cache, so it is as if it were not there.
            raise StorageUnavailable("the cache of sessions has no room") from None
        if stored:
            self._stored.put(session, _Stored(expected_revision + 1, now + timedelta(seconds=seconds)))
        return stored

    async def change(
        self, session: SessionRef, policy: Policy, now: datetime, change: Callable[[Slots], Slots]
    ) -> SessionState:
        """Apply `change` to the slots as they are, and store them. `change` may run several times: it must be pure.

        Raises Aborted when the session is fought over without end.
        """
        # The changes of this process take turns: fighting over the revision is for those who cannot see each other.
        async with self._turns.setdefault(session, asyncio.Lock()):
            for _ in range(ATTEMPTS):
                state = await self.read(session, now)
                slots = change(state.slots)
                if await self.put(session, policy, now, slots, state.revision):
                    expires = now + timedelta(seconds=whole_seconds(policy.slots.ttl))
                    return SessionState(slots, state.revision + 1, expires)
        raise Aborted(
            Reason.REVISION_CONFLICT,
            "session: it is being changed by many calls at once: read it again and repeat",
            {"session_id": session.session_id},
        )

    async def drop(self, session: SessionRef) -> None:
        """Forget the session."""
        self._stored.forget(session)
        await self._cache.drop(session)


def whole_seconds(length: timedelta) -> int:
    """The length in whole seconds, one at least."""
    return max(1, int(length.total_seconds()))
