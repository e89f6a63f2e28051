"""What auditors ask of traces: show one, list them, why an item is in a prompt, why not, and where else it was."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from assemblers.assembly import Prompt, SourceKind
from assemblers.records import Outcome, SessionRef, UserRef
from assemblers.trace.absence import Missed, MissedExcerpt, MissedFact, MissedText, explain_absence
from assemblers.trace.absence import Trace as TraceThen
from assemblers.trace.candidates import Location, candidate, find_block, find_row, numbers, with_refs
from assemblers.trace.errors import NotInPrompt
from assemblers.trace.explain import Explanation, Looked, explain_item
from assemblers.trace.findings import Absence
from assemblers.trace.replay import Surroundings
from gateway.errors import FailedPrecondition, InvalidArgument, NotFound
from gateway.usecases.appearances import Appearance, appearances
from gateway.usecases.opened_trace import OpenedTrace, open_stored
from gateway.usecases.replay_trace import Replayer, run
from gateway.usecases.surroundings import Lookups, observed_of
from storage.ports import ArchiveStore, Page, PageRequest, Storage, StoredTrace, TraceSelector

_AT_ONCE = 16
"""Traces that are read and decoded before other calls get their turn: each may hold a megabyte of material."""


@dataclass(frozen=True, slots=True)
class ShownTrace:
    """A trace, and when its items were observed at their origins, by item id."""

    trace: OpenedTrace
    observed: Mapping[str, datetime]


@dataclass(frozen=True, slots=True)
class ExplainedItem:
    """A trace with the explanation of one of its items."""

    shown: ShownTrace
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class ExplainedAbsence:
    """A trace with the reasons why things are not in its prompt."""

    shown: ShownTrace
    absences: tuple[Absence, ...]


@dataclass(frozen=True, slots=True)
class ItemAppearance:
    """A prompt that an item is in. `location` is None where the trace does not say where, as for date lines."""

    session: SessionRef
    trace_id: str
    turn_id: str
    time: datetime
    outcome: Outcome
    location: Location | None


class TraceReader:
    """Answers from stored traces; writes nothing."""

    def __init__(self, storage: Storage, replayer: Replayer, lookups: Lookups) -> None:
        self._storage, self._replayer, self._lookups = storage, replayer, lookups

    async def get(self, tenant_id: str, trace_id: str) -> ShownTrace:
        """A trace. Raises NotFound."""
        trace = await self._replayer.open(tenant_id, trace_id)
        return ShownTrace(trace, await self._lookups.observed(trace))

    async def explain_item(
        self, tenant_id: str, trace_id: str, item_id: str, as_of: datetime
    ) -> ExplainedItem:
        """Why an item is in a prompt, and what became of it until `as_of`. Raises NotFound for any other item."""
        trace = await self._replayer.open(tenant_id, trace_id)
        given = await self._lookups.everything_for(trace)
        # Only slots name a turn without its time.
        slot = item_id.startswith("slot/")
        times = await self._lookups.turn_times(trace, given, as_of) if slot else {}
        looked = Looked(given, _prompt(trace, given), as_of, times)
        try:
            explained = explain_item(trace.record, trace.readable(), item_id, looked)
        except NotInPrompt:
            raise NotFound from None
        return ExplainedItem(_shown(trace, given), explained)

    async def explain_absence(
        self, tenant_id: str, trace_id: str, missed: Missed, owner: UserRef | None = None
    ) -> ExplainedAbsence:
        """Why things are not in a prompt. `owner` is whose the missed fact or excerpt is, by its name.

        Raises NotFound for what the trace's user never had, and FailedPrecondition where only the erased content could
        tell.
        """
        trace = await self._replayer.open(tenant_id, trace_id)
        if owner is not None and owner != trace.user:
            raise NotFound
        given = await self._lookups.everything_for(trace)
        _check_known(trace, given, missed)
        if trace.content is None and _needs_content(trace, missed):
            raise trace.erased("its content")
        then = TraceThen(trace.record, trace.readable(), given)
        # Off the event loop: words are sought in everything that the user has, and an archive is ranked anew.
        absences = await asyncio.to_thread(explain_absence, then, missed)
        return ExplainedAbsence(_shown(trace, given), absences)

    async def appearances(self, user: UserRef, item_id: str, page: PageRequest) -> Page[ItemAppearance]:
        """The prompts of a user that an item is in, newest first. A page may be short although there are more."""
        found = await appearances(
            self._storage.traces, user, await _wanted(self._storage.archives, user, item_id), page
        )
        return Page(tuple([_located(each, item_id) for each in found.items]), found.next_cursor)

    async def list(self, tenant_id: str, selector: TraceSelector, page: PageRequest) -> Page[OpenedTrace]:
        """The selected traces, newest first, without the material that they hold."""
        opened: list[OpenedTrace] = []
        cursor = page.cursor
        while len(opened) < page.size:
            some = PageRequest(min(_AT_ONCE, page.size - len(opened)), cursor)
            read = await self._storage.traces.list(tenant_id, selector, some)
            opened += [_without_material(open_stored(stored)) for stored in read.items]
            cursor = read.next_cursor
            if not cursor:
                break
        return Page(tuple(opened), cursor)


async def _wanted(archives: ArchiveStore, user: UserRef, item_id: str) -> list[str]:
    """The candidates that tell of an item. A date line is there with any excerpt of its session."""
    kind, _, ref = item_id.partition("/")
    if kind in ("policy", "today"):
        raise InvalidArgument.of(
            "item_id",
            "is a text of the policy, which is no user's: list the prompts made with it by ListTraces.policy",
        )
    if kind != "archived-session":
        return [item_id]
    archive = await archives.load(user)
    return [f"excerpt/{excerpt.no}" for excerpt in archive.excerpts if excerpt.session_id == ref]


def _without_material(trace: OpenedTrace) -> OpenedTrace:
    return trace if trace.content is None else replace(trace, content=replace(trace.content, material=()))


def _shown(trace: OpenedTrace, given: Surroundings) -> ShownTrace:
    return ShownTrace(trace, observed_of(given.facts.values(), given.excerpts.values()))


def _prompt(trace: OpenedTrace, given: Surroundings) -> Prompt | None:
    """The prompt again, or None where something of it was erased."""
    if trace.content is None:
        return None
    try:
        return run(trace, given).assembly.prompt
    except FailedPrecondition:
        return None


def _check_known(trace: OpenedTrace, given: Surroundings, missed: Missed) -> None:
    """Raises NotFound for a number that the user never had."""
    match missed:
        case MissedFact(no):
            known = no in given.facts or no in _recorded(trace, SourceKind.FACT)
        case MissedExcerpt(no):
            known = no in given.excerpts or no in _recorded(trace, SourceKind.EXCERPT)
        case _:
            known = True
    if not known:
        raise NotFound


def _needs_content(trace: OpenedTrace, missed: Missed) -> bool:
    """Whether the record alone cannot tell: what the question was searched by lies with the content."""
    if isinstance(missed, MissedExcerpt):
        return missed.no not in _recorded(trace, SourceKind.EXCERPT)
    return isinstance(missed, MissedText)


def _recorded(trace: OpenedTrace, kind: SourceKind) -> list[int]:
    block = find_block(trace.record, kind)
    return [] if block is None else numbers(block)


def _located(found: Appearance, item_id: str) -> ItemAppearance:
    stored: StoredTrace = found.trace
    trace = open_stored(stored)
    row = find_row(with_refs(trace.record, trace.readable()), item_id)
    chosen = None if row is None else candidate(*row)
    return ItemAppearance(
        stored.session,
        stored.trace_id,
        stored.turn_id,
        stored.create_time,
        Outcome.INCLUDED if chosen is None else chosen.outcome,
        None if chosen is None else chosen.location,
    )
