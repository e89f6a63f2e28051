"""The use cases of FactService: offer, read, list, invalidate and delete a user's facts."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from assemblers.records import Fact, UserRef
from gateway.deadline import Deadline
from gateway.errors import InvalidArgument
from gateway.usecases.admission import OfferedFact, Verdict, admit, check_read_times, check_visible
from gateway.usecases.appearances import Appearance, all_appearances
from gateway.usecases.freshness import Freshness
from gateway.usecases.receipts import through
from gateway.usecases.resolution import PolicyCatalog
from storage.ports import (
    Epochs,
    FactSelector,
    FactStore,
    FactWritten,
    Page,
    PageRequest,
    Receipt,
    TraceStore,
)

_PAGE = 500
_COUNTING_SHARE = 0.5
"""The share of the remaining time that counting affected traces may take; the rest is for taking facts out of use."""


@dataclass(frozen=True, slots=True)
class FactOutcome:
    """A verdict and what was written; `written` is None where it was refused or only validated."""

    verdict: Verdict
    written: FactWritten | None = None


@dataclass(frozen=True, slots=True)
class Invalidation:
    """The facts that are out of use now, by key, subject and number, and how many traces included one of them: None
    where there was no time to count them."""

    facts: tuple[Fact, ...]
    affected_traces: int | None


class Facts:
    """A user's facts over a store, under the tenant's policies. A fact of somebody else is `NotFound`."""

    def __init__(
        self, store: FactStore, traces: TraceStore, policies: PolicyCatalog, freshness: Freshness
    ) -> None:
        self._store, self._traces, self._policies, self._freshness = store, traces, policies, freshness

    async def record(
        self,
        user: UserRef,
        offered: tuple[OfferedFact, ...],
        policy: str,
        now: datetime,
        receipt: Receipt[tuple[FactOutcome, ...]],
    ) -> tuple[FactOutcome, ...]:
        """Store those that pass the gate, in one step. The outcomes are in the order of the offers."""
        verdicts = await self._verdicts(user, offered, policy, now)
        drafts = [verdict.draft for verdict in verdicts if verdict.draft is not None]
        kept: Receipt[tuple[FactWritten, ...]] = through(
            receipt, lambda written: _outcomes(verdicts, written)
        )
        # Also without drafts: a repeat is to get the same answer, whatever the policy says by then.
        written = await self._store.record(user, drafts, now, kept) if drafts or receipt.request_id else ()
        return _outcomes(verdicts, written)

    async def validate(
        self, user: UserRef, offered: tuple[OfferedFact, ...], policy: str, now: datetime
    ) -> tuple[FactOutcome, ...]:
        """The verdicts; nothing is written."""
        return tuple([FactOutcome(verdict) for verdict in await self._verdicts(user, offered, policy, now)])

    async def get(self, user: UserRef, no: int, seen: Epochs | None = None) -> Fact:
        """The fact of that number, in whatever state. Raises FailedPrecondition where the store is behind `seen`."""
        await self._check_seen(user, seen)
        return await self._store.get(user, no)

    async def list(
        self, user: UserRef, selector: FactSelector, page: PageRequest, seen: Epochs | None = None
    ) -> Page[Fact]:
        """The user's facts that are selected. Raises FailedPrecondition where the store is behind `seen`."""
        await self._check_seen(user, seen)
        return await self._store.list(user, selector, page)

    async def invalidate(
        self,
        user: UserRef,
        selector: FactSelector,
        reason: str,
        now: datetime,
        deadline: Deadline,
        receipt: Receipt[Invalidation],
    ) -> Invalidation:
        """Take the selected facts out of use. A fact that is named and not the user's is `NotFound`."""
        check_period(selector.written_from, selector.written_until)
        found = await self._affected(user, await self._selected(user, selector), deadline)
        kept: Receipt[tuple[Fact, ...]] = through(receipt, lambda facts: _invalidation(facts, found))
        return _invalidation(await self._store.invalidate(user, selector, reason, now, kept), found)

    async def validate_invalidation(
        self, user: UserRef, selector: FactSelector, deadline: Deadline
    ) -> Invalidation:
        """What would be taken out of use; nothing is written."""
        check_period(selector.written_from, selector.written_until)
        facts = await self._selected(user, selector)
        return _invalidation(facts, await self._affected(user, facts, deadline))

    async def delete(self, user: UserRef, no: int, etag: str, now: datetime, receipt: Receipt[Fact]) -> Fact:
        """Remove the fact's value for good, if the etag ("" is any) is its present one."""
        return await self._store.delete(user, no, etag, now, receipt)

    async def _check_seen(self, user: UserRef, seen: Epochs | None) -> None:
        """The store itself is read, which is never behind what was acknowledged: only a token needs a look."""
        if seen is not None:
            await self._freshness.certain(user, seen)

    async def _verdicts(
        self, user: UserRef, offered: tuple[OfferedFact, ...], policy: str, now: datetime
    ) -> tuple[Verdict, ...]:
        check_read_times(offered, now)
        check_visible(offered)
        rules = (await self._policies.resolve(user.tenant_id, policy)).policy.facts
        return tuple(admit(fact, rules, now) for fact in offered)

    async def _selected(self, user: UserRef, selector: FactSelector) -> tuple[Fact, ...]:
        if selector.no is not None:
            await self._store.get(user, selector.no)
        facts: list[Fact] = []
        page = await self._store.list(user, selector, PageRequest(_PAGE))
        facts += page.items
        while page.next_cursor:
            page = await self._store.list(user, selector, PageRequest(_PAGE, page.next_cursor))
            facts += page.items
        return tuple(facts)

    async def _affected(
        self, user: UserRef, facts: tuple[Fact, ...], deadline: Deadline
    ) -> tuple[Appearance, ...] | None:
        """The traces that included any of the facts, None where there are too many to look through in time."""
        if not facts:
            return ()
        # No trace that included a fact is older than the fact.
        since = min(fact.write_time for fact in facts)
        try:
            async with asyncio.timeout(deadline.share(_COUNTING_SHARE).remaining()):
                return await all_appearances(self._traces, user, _items(facts), since)
        except TimeoutError:
            return None


def check_period(start: datetime | None, end: datetime | None) -> None:
    """Raises InvalidArgument for a period that ends before it begins."""
    if start is not None and end is not None and end <= start:
        raise InvalidArgument.of(
            "end_time", "is not after start_time: the period would be empty, set it later"
        )


def _outcomes(verdicts: Iterable[Verdict], written: Iterable[FactWritten]) -> tuple[FactOutcome, ...]:
    """Each verdict with its own writing: the store answers the accepted ones in their order."""
    results = iter(written)
    return tuple(FactOutcome(v, next(results) if v.draft is not None else None) for v in verdicts)


def _invalidation(facts: Iterable[Fact], found: Sequence[Appearance] | None) -> Invalidation:
    ordered = tuple(sorted(facts, key=lambda f: (f.key, f.subject.kind, f.subject.id, f.no)))
    if found is None:
        return Invalidation(ordered, None)
    items = _items(ordered)
    return Invalidation(ordered, sum(not items.isdisjoint(appearance.item_ids) for appearance in found))


def _items(facts: Iterable[Fact]) -> frozenset[str]:
    return frozenset(f"fact/{fact.no}" for fact in facts)
