"""Fetches what an assembly needs, each store within its share of the deadline; what is late becomes a degradation."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from assemblers.policy.model import Policy
from assemblers.records import Degradation, SectionKind, UserRef
from gateway.deadline import Deadline
from gateway.usecases.degradations import denied, late, stale, unavailable
from gateway.usecases.freshness import Freshness, Standing
from storage.errors import StorageFull, StorageUnavailable
from storage.ports import ArchiveSnapshot, FactSnapshot

LOAD_SHARE = 0.5
"""The share of the remaining time that loading may take; the rest is for assembling and for the durable trace."""
COPY_SECONDS = 0.1
"""What looking for a copy may take while SQL is out; the shared cache answers in half of it, or not at all."""
_FACTS, _HISTORY = SectionKind.FACTS, SectionKind.HISTORY


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the stores gave, and the question's vector in fixed point. None: the policy has no such section or wants no
    vector, or a degradation says why it is missing."""

    facts: FactSnapshot | None
    archive: ArchiveSnapshot | None
    degradations: tuple[Degradation, ...] = ()
    vector: NDArray[np.float32] | None = None


class _Snapshot(Protocol):
    @property
    def epoch(self) -> int: ...


S = TypeVar("S", bound=_Snapshot)


class Gatherer:
    """Gathers a user's facts and archive, from memory where they are there and current."""

    def __init__(self, freshness: Freshness) -> None:
        self._freshness = freshness

    async def gather(self, user: UserRef, policy: Policy, standing: Standing, deadline: Deadline) -> Gathered:
        """Never raises for a store that is late or down."""
        wants_facts = policy.section(_FACTS) is not None
        wants_history = policy.section(_HISTORY) is not None
        if standing.is_denied:
            return _denied(wants_facts, wants_history)
        facts = self._freshness.facts(user, standing) if wants_facts else None
        archive = self._freshness.archive(user, standing) if wants_history else None
        missing_facts, missing_archive = wants_facts and facts is None, wants_history and archive is None
        if not standing.sql_answers:
            known = Gathered(facts, archive)
            return await self._without_sql(user, standing, known, missing_facts, missing_archive)
        gathered = Gathered(facts, archive)
        if missing_facts or missing_archive:
            load = _Load(self._freshness, user, standing, deadline.share(LOAD_SHARE))
            gathered = await load.missing(gathered, missing_facts, missing_archive)
        self._freshness.note_current(user)
        return gathered

    async def _without_sql(
        self, user: UserRef, standing: Standing, known: Gathered, facts: bool, archive: bool
    ) -> Gathered:
        """SQL just failed to answer, so it is not asked. `facts` and `archive`: whether they are missing in memory."""
        said: list[Degradation] = []
        if not standing.is_stale:
            said += [unavailable(_FACTS)] if facts else []
            said += [unavailable(_HISTORY)] if archive else []
            return Gathered(known.facts, known.archive, tuple(said))
        kept = self._freshness.was_current_lately(user)
        shown_facts = known.facts if kept else None
        if facts:
            shown_facts = await self._copied_facts(user, standing)
        shown_archive = known.archive if kept else None
        if facts or known.facts is not None:
            said.append(unavailable(_FACTS) if shown_facts is None else stale(_FACTS))
        if archive or known.archive is not None:
            said.append(unavailable(_HISTORY) if shown_archive is None else stale(_HISTORY))
        return Gathered(shown_facts, shown_archive, tuple(said))

    async def _copied_facts(self, user: UserRef, standing: Standing) -> FactSnapshot | None:
        """A copy of the facts that another gateway made within the last minute, if the shared cache has one."""
        try:
            async with asyncio.timeout(COPY_SECONDS):
                copied = await self._freshness.load_facts(user, standing)
        except (TimeoutError, StorageUnavailable, StorageFull):
            return None
        return copied if copied.epoch >= standing.required.facts else None


@dataclass(frozen=True, slots=True)
class _Load:
    """Loading within a deadline."""

    freshness: Freshness
    user: UserRef
    standing: Standing
    deadline: Deadline

    async def missing(self, known: Gathered, facts: bool, archive: bool) -> Gathered:
        """What is known, and what is missing."""
        said: list[Degradation] = []
        fresh, user, standing = self.freshness, self.user, self.standing
        # Functions and not coroutines: a call that is cancelled before they begin would leave those unawaited.
        load_facts = partial(fresh.load_facts, user, standing) if facts else None
        load_archive = partial(fresh.load_archive, user, standing) if archive else None
        loaded_facts, loaded_archive = await asyncio.gather(
            self._within(load_facts, standing.required.facts, _FACTS, said),
            self._within(load_archive, standing.required.archive, _HISTORY, said),
        )
        return Gathered(known.facts or loaded_facts, known.archive or loaded_archive, _in_order(said))

    async def _within(
        self,
        load: Callable[[], Awaitable[S]] | None,
        required: int,
        section: SectionKind,
        said: list[Degradation],
    ) -> S | None:
        if load is None:
            return None
        try:
            async with asyncio.timeout(self.deadline.remaining()):
                loaded = await load()
        except TimeoutError:
            said.append(late(section))
            return None
        except (StorageUnavailable, StorageFull):
            said.append(unavailable(section))
            return None
        if loaded.epoch < required:
            said.append(unavailable(section, "the store is behind what the caller has seen"))
            return None
        return loaded


def _denied(facts: bool, history: bool) -> Gathered:
    wanted = [kind for kind, wants in ((_FACTS, facts), (_HISTORY, history)) if wants]
    return Gathered(None, None, tuple(denied(kind) for kind in wanted))


def _in_order(said: list[Degradation]) -> tuple[Degradation, ...]:
    return tuple(sorted(said, key=lambda degradation: degradation.section.value))
