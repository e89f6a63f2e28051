"""The beginning of an assembly: what its session is about, and what of its user may be shown."""

import asyncio
from datetime import datetime
from typing import NamedTuple

from assemblers.records import Degradation, SectionKind, SessionRef, Slots
from gateway.deadline import Deadline
from gateway.usecases.degradations import BEHIND, denied, stale, unavailable
from gateway.usecases.freshness import Freshness, Standing
from gateway.usecases.probation import Probation
from gateway.usecases.slot_book import SlotBook
from storage.errors import StorageFull, StorageUnavailable
from storage.ports import Epochs, SessionState

CONFIRM_SHARE = 0.25
"""The share of the remaining time that SQL may take to confirm epochs, where the shared cache cannot."""
MOST_CONFIRM_SECONDS = 0.5
IMPATIENT_SECONDS = 0.02
"""What SQL may take once it has failed to confirm several times, until it answers again."""
NO_SLOTS = SessionState(Slots(), 0)


class Opening(NamedTuple):
    """The session's state and the user's standing. `missing` says why the state is not to be relied on: then `state` is
    empty, or what it was before (STALE)."""

    state: SessionState
    standing: Standing
    missing: Degradation | None = None

    @property
    def is_known(self) -> bool:
        """Whether the state is that of the cache, so that it can be changed from there."""
        return self.missing is None or self.state is not NO_SLOTS


class Openings:
    """Reads slots and confirms epochs. Where the cache is shared both are asked in one turn of the loop, so that its
    client sends them together; in one process neither waits for anything, and two tasks would cost more than both."""

    def __init__(self, slots: SlotBook, freshness: Freshness, is_shared: bool) -> None:
        self._slots, self._freshness, self._is_shared = slots, freshness, is_shared
        self._sql = Probation()

    async def open(
        self, session: SessionRef, seen: Epochs | None, now: datetime, deadline: Deadline, writes: bool
    ) -> Opening:
        """`seen` is what the caller's token stands for, `writes` whether the call leaves a trace of the user.

        Raises FailedPrecondition where SQL is behind the token. Never raises for a store that does not answer.
        """
        if self._is_shared:
            (state, missing), standing = await asyncio.gather(
                self._read(session, now), self._standing(session, seen, deadline, writes)
            )
        else:
            state, missing = await self._read(session, now)
            standing = await self._freshness.standing(session.user, seen)
        if standing.is_denied:
            return Opening(NO_SLOTS, standing, denied(SectionKind.SESSION))
        return Opening(state, standing, missing)

    async def seen(self, session: SessionRef) -> Epochs | None:
        """What is current of the session's user, for the answer to a repeat; None where nobody can say."""
        confirmation = (await self._freshness.standing(session.user, None, IMPATIENT_SECONDS)).confirmation
        return None if confirmation is None else confirmation.epochs

    async def _read(self, session: SessionRef, now: datetime) -> tuple[SessionState, Degradation | None]:
        try:
            state, is_behind = await self._slots.look(session, now)
        except (StorageUnavailable, StorageFull, TimeoutError):
            return NO_SLOTS, unavailable(SectionKind.SESSION, "the cache of sessions does not answer")
        return state, stale(SectionKind.SESSION, BEHIND) if is_behind else None

    async def _standing(
        self, session: SessionRef, seen: Epochs | None, deadline: Deadline, writes: bool
    ) -> Standing:
        patient = self._sql.admits()
        share = min(deadline.share(CONFIRM_SHARE).remaining(), MOST_CONFIRM_SECONDS)
        within = share if patient else min(share, IMPATIENT_SECONDS)
        standing = await self._freshness.standing(session.user, seen, within, writes)
        if standing.sql_answers:
            self._sql.succeeded()
        elif patient:
            self._sql.failed()
        return standing
