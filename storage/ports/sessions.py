"""The cache of what live sessions are about."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from assemblers.records import SessionRef, Slots


@dataclass(frozen=True, slots=True)
class SessionState:
    """The cached state of a session. `revision` grows with each put, from 1.

    `expire_time` is when it is forgotten unless it is touched before; None where nothing is cached.
    """

    slots: Slots
    revision: int
    expire_time: datetime | None = field(default=None, compare=False)


class SessionCache(Protocol):
    """Slots with a time to live; losing them costs one repeated question."""

    async def get(self, session: SessionRef, now: datetime) -> SessionState | None: ...
    async def put(
        self, session: SessionRef, slots: Slots, expected_revision: int, now: datetime, ttl_seconds: int
    ) -> bool:
        """Store and touch, if the revision is still the expected one (0: none stored). False: somebody was faster."""
        ...

    async def drop(self, session: SessionRef) -> None: ...
