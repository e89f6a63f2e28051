"""Replays a trace: looks up what it names, and runs the same pure function again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

import numpy as np

from assemblers.assemble import assemble
from assemblers.assembly import OUTCOMES, Assembly, PromptFormat, SourceKind
from assemblers.formats import FORMATS
from assemblers.policy.model import PolicyRevision
from assemblers.ranking import Legs, Ranking
from assemblers.records import Excerpt, Fact, FactState, Outcome, PrefixRevision, UserRef
from assemblers.sections.archive import prepare_archive
from assemblers.sections.facts import prepare_facts
from assemblers.sections.history import HistoryInput
from assemblers.trace.codec import decode_record
from assemblers.trace.content_codec import decode_content
from assemblers.trace.errors import ContentErased, TraceError
from assemblers.trace.record import TraceContent, TraceRecord
from assemblers.trace.replay import (
    Comparison,
    ReplayInputs,
    Surroundings,
    compare,
    find_block,
    numbers,
    replay_inputs,
)
from gateway.errors import FailedPrecondition, GatewayError, Internal, NotFound, Reason
from gateway.names import parse_prefix_name, trace_name
from gateway.tokenizers import TokenizerRegistry
from gateway.usecases.resolution import PolicyCatalog
from storage.errors import Erased
from storage.errors import NotFound as NotStored
from storage.ports import Storage, StoredTrace


@dataclass(frozen=True, slots=True)
class OpenedTrace:
    """A stored trace, decoded."""

    stored: StoredTrace
    record: TraceRecord
    content: TraceContent

    @property
    def user(self) -> UserRef:
        """Whose it is."""
        return self.stored.session.user


@dataclass(frozen=True, slots=True)
class Replayed:
    """A prompt made again."""

    opened: OpenedTrace
    policy: str
    assembly: Assembly
    comparison: Comparison


class Replayer:
    """Opens and replays traces."""

    def __init__(self, storage: Storage, policies: PolicyCatalog, tokenizers: TokenizerRegistry) -> None:
        self._storage, self._policies, self._tokenizers = storage, policies, tokenizers

    async def open(self, tenant_id: str, trace_id: str) -> OpenedTrace:
        """A trace by id. Raises NotFound, and FailedPrecondition where its content was erased."""
        try:
            stored = await self._storage.traces.get(tenant_id, trace_id)
        except NotStored:
            raise NotFound from None
        return opened(stored)

    async def replay(self, tenant_id: str, trace_id: str, formats: tuple[PromptFormat, ...] = ()) -> Replayed:
        """Make the prompt again, in the formats asked for beside the recorded ones.

        Raises NotFound; FailedPrecondition where a part of it was erased or a revision is gone.
        """
        return await self._replay(await self.open(tenant_id, trace_id), formats)

    async def answer_again(self, tenant_id: str, trace_id: str) -> Replayed:
        """The answer of a repeated turn: as it was, and refused where a fact in it was invalidated since."""
        trace = await self.open(tenant_id, trace_id)
        await self._check_facts(trace)
        return await self._replay(trace, ())

    async def surroundings(self, trace: OpenedTrace) -> Surroundings:
        """Everything that the record names, looked up."""
        return Surroundings(
            policy=self._policy(trace),
            prefix=self._prefix(trace),
            counter=self._tokenizers.counter(trace.record.counting.tokenizer),
            zone=ZoneInfo(trace.record.zone),
            facts=await self._facts(trace),
            excerpts={e.no: e for e in await self._excerpts(trace)},
        )

    async def _replay(self, trace: OpenedTrace, formats: tuple[PromptFormat, ...]) -> Replayed:
        surroundings = await self.surroundings(trace)
        try:
            inputs = replay_inputs(trace.record, trace.content, surroundings)
        except ContentErased as error:
            raise erased(trace.stored, error.item_id) from None
        except TraceError:
            raise Internal(Reason.INTERNAL, "the trace cannot be replayed by this release: keep the trace, and "
                           "replay it with the release that it names") from None
        more = tuple(f for f in formats if f not in inputs.conditions.formats)
        assembly = run(inputs, more, trace.stored.session.session_id)
        assembly = replace(assembly, slots=trace.content.slots_after, warnings=trace.content.warnings)
        return Replayed(trace, trace.record.policy, assembly, compare(trace.record, trace.content, assembly))

    def _policy(self, trace: OpenedTrace) -> PolicyRevision:
        try:
            return self._policies.resolve(trace.stored.session.tenant_id, trace.record.policy)
        except GatewayError:
            raise FailedPrecondition(
                Reason.POLICY_UNUSABLE, "the trace's policy revision is not known here any more",
                {"policy": trace.record.policy},
            ) from None

    def _prefix(self, trace: OpenedTrace) -> PrefixRevision | None:
        if not trace.record.prefix:
            return None
        name = parse_prefix_name("prefix", trace.record.prefix)
        found = self._storage.prefixes.peek(name.tenant_id, name.prefix_id, name.digest)
        if found is None:
            raise erased(trace.stored, trace.record.prefix)
        return found

    async def _facts(self, trace: OpenedTrace) -> dict[int, Fact]:
        block = find_block(trace.record, SourceKind.FACT)
        wanted = [] if block is None else numbers(block)
        return await self._facts_by_number(trace.user, wanted)

    async def _facts_by_number(self, user: UserRef, wanted: Sequence[int]) -> dict[int, Fact]:
        snapshot = self._storage.facts.peek(user) or await self._storage.facts.load(user)
        found = {fact.no: fact for fact in snapshot.facts}
        for number in wanted:
            if number not in found:
                try:
                    found[number] = await self._storage.facts.get(user, number)
                except (NotStored, Erased):
                    continue
        return found

    async def _excerpts(self, trace: OpenedTrace) -> tuple[Excerpt, ...]:
        block = find_block(trace.record, SourceKind.EXCERPT)
        if block is None:
            return ()
        try:
            return await self._storage.archives.excerpts(trace.user, numbers(block))
        except Erased:
            raise erased(trace.stored, "an excerpt") from None

    async def _check_facts(self, trace: OpenedTrace) -> None:
        block = find_block(trace.record, SourceKind.FACT)
        if block is None:
            return
        shown = [no for no, code in zip(numbers(block), block.outcomes.tolist(), strict=True)
                 if OUTCOMES[code] is not Outcome.EXCLUDED]
        facts = await self._facts_by_number(trace.user, shown)
        for number in shown:
            fact = facts.get(number)
            if fact is None or fact.state in (FactState.INVALIDATED, FactState.DELETED):
                raise FailedPrecondition(
                    Reason.INVALIDATED,
                    f"the answer kept for this turn rests on fact/{number}, which was invalidated or deleted "
                    "since: ask with a new turn id",
                    {"item_id": f"fact/{number}"},
                )


def opened(stored: StoredTrace) -> OpenedTrace:
    """The decoded trace. Raises FailedPrecondition where its content was erased."""
    if stored.content is None:
        raise erased(stored, "its content")
    return OpenedTrace(stored, decode_record(stored.record), decode_content(stored.content))


def erased(stored: StoredTrace, what: str) -> FailedPrecondition:
    """The error for a trace that cannot be shown whole any more."""
    return FailedPrecondition(
        Reason.ERASED, f"the prompt cannot be made again: {what} was erased; what remains is the sealed record",
        {"name": trace_name(stored.session.tenant_id, stored.trace_id)},
    )


def run(inputs: ReplayInputs, more: tuple[PromptFormat, ...], session_id: str) -> Assembly:
    """Assemble again from recorded inputs. `more` formats are rendered beside and take no part in the budget."""
    conditions = inputs.conditions
    facts = None if inputs.facts is None else prepare_facts(
        conditions.policy, inputs.facts, conditions.now, conditions.zone, conditions.tokens)
    assembly = assemble(
        conditions, inputs.turn, inputs.prefix, facts, _history(inputs, session_id), inputs.material, inputs.slots,
        inputs.degradations,
    )
    prompt = assembly.prompt
    beside = {f: FORMATS[f].render(prompt.messages, prompt.prefix, prompt.breakpoints) for f in more}
    return replace(assembly, prompt=replace(prompt, rendered={**prompt.rendered, **beside}))


def _history(inputs: ReplayInputs, session_id: str) -> HistoryInput | None:
    if inputs.excerpts is None or inputs.history is None:
        return None
    summary = inputs.history
    count = len(inputs.excerpts)
    legs = Legs(*(inputs.scores[leg] for leg in ("keyword", "neighbour", "session")))
    ranking = Ranking(
        np.arange(count, dtype=np.int32), legs.total(), legs, summary.matched, summary.cutoff_micros or None)
    return HistoryInput(
        prepare_archive(inputs.excerpts, inputs.conditions.tokens.counter), ranking, summary.query_terms,
        summary.archive_epoch, summary.archive_end_no, session_id,
    )
