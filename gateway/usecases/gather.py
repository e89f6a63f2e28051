"""Fetches what an assembly needs, each store within its share of the deadline; what is late becomes a degradation."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from assemblers.policy.model import Policy
from assemblers.records import Degradation, Reason, SectionKind, SectionStatus, UserRef
from gateway.deadline import Deadline
from storage.errors import StorageFull, StorageUnavailable
from storage.ports import ArchiveSnapshot, ArchiveStore, FactSnapshot, FactStore

T = TypeVar("T")

LOAD_SHARE = 0.5
"""The share of the remaining time that loading may take; the rest is for assembling and for the durable trace."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the stores gave. None: the policy has no such section, or a degradation says why it is missing."""

    facts: FactSnapshot | None
    archive: ArchiveSnapshot | None
    degradations: tuple[Degradation, ...] = ()


class Gatherer:
    """Gathers a user's facts and archive, from memory where they are there."""

    def __init__(self, facts: FactStore, archives: ArchiveStore) -> None:
        self._facts, self._archives = facts, archives

    async def gather(self, user: UserRef, policy: Policy, deadline: Deadline) -> Gathered:
        """Never raises for a store that is late or down."""
        wants_facts = policy.section(SectionKind.FACTS) is not None
        wants_history = policy.section(SectionKind.HISTORY) is not None
        facts = self._facts.peek(user) if wants_facts else None
        archive = self._archives.peek(user) if wants_history else None
        if (facts is not None or not wants_facts) and (archive is not None or not wants_history):
            return Gathered(facts, archive)
        return await self._load(user, facts, archive, wants_facts, wants_history, deadline.share(LOAD_SHARE))

    async def _load(
        self,
        user: UserRef,
        facts: FactSnapshot | None,
        archive: ArchiveSnapshot | None,
        wants_facts: bool,
        wants_history: bool,
        deadline: Deadline,
    ) -> Gathered:
        missing: list[Degradation] = []
        load_facts = wants_facts and facts is None
        load_archive = wants_history and archive is None
        # Functions and not coroutines: a call that is cancelled before they begin would leave those unawaited.
        facts_of, archive_of = partial(self._facts.load, user), partial(self._archives.load, user)
        loaded_facts, loaded_archive = await asyncio.gather(
            _within(facts_of if load_facts else None, SectionKind.FACTS, deadline, missing),
            _within(archive_of if load_archive else None, SectionKind.HISTORY, deadline, missing),
        )
        missing.sort(key=lambda d: d.section.value)
        return Gathered(facts or loaded_facts, archive or loaded_archive, tuple(missing))


async def _within(
    load: Callable[[], Awaitable[T]] | None,
    section: SectionKind,
    deadline: Deadline,
    missing: list[Degradation],
) -> T | None:
    if load is None:
        return None
    try:
        async with asyncio.timeout(deadline.remaining()):
            return await load()
    except TimeoutError:
        missing.append(
            _degradation(section, Reason.LATE, "the store did not answer within its share of the deadline")
        )
    except (StorageUnavailable, StorageFull):
        missing.append(_degradation(section, Reason.UNAVAILABLE, "the store does not answer"))
    return None


def _degradation(section: SectionKind, reason: Reason, detail: str) -> Degradation:
    return Degradation(section, SectionStatus.UNAVAILABLE, reason, detail)
