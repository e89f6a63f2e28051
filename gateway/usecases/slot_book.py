"""Reads and changes the slots of a session, which several turns may do at once."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from assemblers.policy.model import Policy
from assemblers.records import SessionRef, Slots
from gateway.errors import Aborted, Reason
from storage.ports import SessionCache, SessionState

ATTEMPTS = 8
"""How often a change is applied anew when others were faster; each of them made progress, so this is plenty."""


class SlotBook:
    """Reads and changes a session's slots without losing a concurrent update."""

    def __init__(self, cache: SessionCache) -> None:
        self._cache = cache

    async def read(self, session: SessionRef, now: datetime) -> SessionState:
        """The state; revision 0 and empty slots where there is none or it expired."""
        return await self._cache.get(session, now) or SessionState(Slots(), 0)

    def put(
        self, session: SessionRef, policy: Policy, now: datetime, slots: Slots, expected_revision: int
    ) -> Awaitable[bool]:
        """Store and touch the slots if nobody else changed them since that revision."""
        return self._cache.put(session, slots, expected_revision, now, whole_seconds(policy.slots.ttl))

    async def change(
        self, session: SessionRef, policy: Policy, now: datetime, change: Callable[[Slots], Slots]
    ) -> SessionState:
        """Apply `change` to the slots as they are, and store them. `change` may run several times: it must be pure.

        Raises Aborted when the session is fought over without end.
        """
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


def whole_seconds(length: timedelta) -> int:
    """The length in whole seconds, one at least."""
    return max(1, int(length.total_seconds()))
