"""Looks up what a trace names: its policy, prefix, vocabulary and time zone, the user's facts and excerpts."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from assemblers.assembly import SourceKind
from assemblers.policy.model import PolicyRevision
from assemblers.records import Excerpt, Fact, PrefixRevision, UserRef
from assemblers.tokens import TokenCounter
from assemblers.trace.candidates import find_block, numbers
from assemblers.trace.replay import Surroundings
from gateway.errors import FailedPrecondition, GatewayError, Internal, Reason
from gateway.names import parse_prefix_revision_name
from gateway.tokenizers import TokenizerError, TokenizerRegistry
from gateway.usecases.freshness import Freshness
from gateway.usecases.opened_trace import OpenedTrace
from gateway.usecases.resolution import PolicyCatalog
from storage.errors import Erased, StorageUnavailable
from storage.errors import NotFound as NotStored
from storage.ports import FactSelector, PageRequest, Storage

FACTS_AT_ONCE = 500
TURNS_AT_ONCE = 200


class Lookups:
    """Looks things up under the names that a trace has for them. Raises FailedPrecondition for what is gone."""

    def __init__(
        self, storage: Storage, policies: PolicyCatalog, tokenizers: TokenizerRegistry, freshness: Freshness
    ) -> None:
        self._storage, self._policies, self._tokenizers = storage, policies, tokenizers
        self._freshness = freshness

    async def candidates_of(self, trace: OpenedTrace) -> Surroundings:
        """With those facts and excerpts that were candidates: what a replay needs. Deleted facts may be missing."""
        facts = await self.facts(trace.user, _numbers(trace, SourceKind.FACT))
        excerpts = await self._excerpts(trace)
        return await self._surroundings(trace, facts, {excerpt.no: excerpt for excerpt in excerpts})

    async def everything_for(self, trace: OpenedTrace) -> Surroundings:
        """With all facts of the user, retired and deleted ones too, and all excerpts: what explaining needs."""
        facts = await self._all_facts(trace.user)
        archive = await self._freshness.certain_archive(trace.user)
        excerpts = {excerpt.no: excerpt for excerpt in archive.excerpts}
        return replace(await self._surroundings(trace, facts, excerpts), vectors=archive.vectors)

    async def observed(self, trace: OpenedTrace) -> dict[str, datetime]:
        """When the trace's facts were read and its excerpts said, by item id; without those that are gone, or that
        their store does not answer for."""
        try:
            facts = await self.facts(trace.user, _numbers(trace, SourceKind.FACT))
        except StorageUnavailable:
            return {}
        try:
            excerpts = await self._excerpts(trace)
        except (FailedPrecondition, StorageUnavailable):
            excerpts = ()
        return observed_of(facts.values(), excerpts)

    async def turn_times(self, trace: OpenedTrace, given: Surroundings, now: datetime) -> dict[str, datetime]:
        """When turns of the trace's session came, by id: those that are live at `now` or archived."""
        excerpts = given.excerpts.values()
        session = trace.session
        times = {e.turn_id: e.occur_time for e in excerpts if e.session_id == session.session_id}
        cursor, more = "", True
        while more:
            page = await self._storage.transcripts.list(session, now, PageRequest(TURNS_AT_ONCE, cursor))
            times.update((turn.turn_id, turn.occur_time) for turn in page.items)
            cursor = page.next_cursor
            more = bool(cursor)
        return times

    async def facts(self, user: UserRef, wanted: Sequence[int]) -> dict[int, Fact]:
        """The user's facts of those numbers, in whatever state; unknown numbers are left out."""
        snapshot = await self._freshness.certain_facts(user)
        known = {fact.no: fact for fact in snapshot.facts}
        found: dict[int, Fact] = {}
        for number in wanted:
            fact = known.get(number) or await self._fact(user, number)
            if fact is not None:
                found[number] = fact
        return found

    async def _fact(self, user: UserRef, number: int) -> Fact | None:
        try:
            return await self._storage.facts.get(user, number)
        except (NotStored, Erased):
            return None

    async def _all_facts(self, user: UserRef) -> dict[int, Fact]:
        found: dict[int, Fact] = {}
        selector, cursor = FactSelector(include_retired=True), ""
        while True:
            page = await self._storage.facts.list(user, selector, PageRequest(FACTS_AT_ONCE, cursor))
            found.update((fact.no, fact) for fact in page.items)
            cursor = page.next_cursor
            if not cursor:
                return found

    async def _excerpts(self, trace: OpenedTrace) -> tuple[Excerpt, ...]:
        wanted = _numbers(trace, SourceKind.EXCERPT)
        try:
            return await self._storage.archives.excerpts(trace.user, wanted) if wanted else ()
        except Erased:
            raise trace.erased("an excerpt") from None

    async def _surroundings(
        self, trace: OpenedTrace, facts: dict[int, Fact], excerpts: dict[int, Excerpt]
    ) -> Surroundings:
        return Surroundings(
            policy=await self._policy(trace),
            prefix=await self._prefix(trace),
            counter=self._counter(trace),
            zone=_zone(trace),
            facts=facts,
            excerpts=excerpts,
        )

    async def _policy(self, trace: OpenedTrace) -> PolicyRevision:
        try:
            return await self._policies.resolve(trace.session.tenant_id, trace.record.policy)
        except GatewayError:
            raise FailedPrecondition(
                Reason.POLICY_UNUSABLE,
                "the trace's policy revision cannot be read here any more: replay it with the release "
                f"{trace.record.versions.engine}, which made it",
                {"policy": trace.record.policy},
            ) from None

    async def _prefix(self, trace: OpenedTrace) -> PrefixRevision | None:
        if not trace.record.prefix:
            return None
        name = parse_prefix_revision_name("prefix", trace.record.prefix)
        found = await self._storage.prefixes.find(name.tenant_id, name.prefix_id, name.digest)
        if found is None:
            raise trace.erased("its prefix revision")
        return found

    def _counter(self, trace: OpenedTrace) -> TokenCounter:
        try:
            return self._tokenizers.counter(trace.record.counting.tokenizer)
        except TokenizerError:
            raise unreadable(trace) from None


def observed_of(facts: Iterable[Fact], excerpts: Iterable[Excerpt]) -> dict[str, datetime]:
    """When facts were read and excerpts said, by item id."""
    times = {f"fact/{fact.no}": fact.read_time for fact in facts}
    for excerpt in excerpts:
        times[f"excerpt/{excerpt.no}"] = excerpt.occur_time
        times[f"archived-session/{excerpt.session_id}"] = excerpt.session_time
    return times


def unreadable(trace: OpenedTrace) -> Internal:
    """The error for a trace that only another release can replay."""
    return Internal(
        Reason.INTERNAL,
        "the trace cannot be replayed by this release: replay it with the release "
        f"{trace.record.versions.engine}, which made it",
    )


def _zone(trace: OpenedTrace) -> ZoneInfo:
    try:
        return ZoneInfo(trace.record.zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise unreadable(trace) from None


def _numbers(trace: OpenedTrace, kind: SourceKind) -> list[int]:
    block = find_block(trace.record, kind)
    return [] if block is None else numbers(block)
