"""Replays a trace: looks up what it names, runs the same pure function again, and compares."""

from dataclasses import dataclass, replace

from assemblers.assembly import OUTCOMES, Assembly, PromptFormat, Rendered, SourceKind
from assemblers.formats import FORMATS
from assemblers.formats.errors import UnrenderablePromptError
from assemblers.records import FactState, Outcome
from assemblers.trace.candidates import find_block, numbers
from assemblers.trace.errors import ContentErased, TraceError
from assemblers.trace.replay import Comparison, Surroundings, compare, replay
from gateway.errors import FailedPrecondition, InvalidArgument, NotFound, Reason
from gateway.usecases.opened_trace import OpenedTrace, open_stored
from gateway.usecases.surroundings import Lookups, unreadable
from storage.errors import NotFound as NotStored
from storage.ports import TraceStore


@dataclass(frozen=True, slots=True)
class Replayed:
    """A prompt made again. Slots and warnings are those that were recorded."""

    trace: OpenedTrace
    assembly: Assembly
    comparison: Comparison

    @property
    def policy(self) -> str:
        """The policy revision, by its resource name."""
        return self.trace.record.policy


class Replayer:
    """Opens and replays traces."""

    def __init__(self, traces: TraceStore, lookups: Lookups) -> None:
        self._traces, self._lookups = traces, lookups

    async def open(self, tenant_id: str, trace_id: str) -> OpenedTrace:
        """A trace by id. Raises NotFound."""
        try:
            return open_stored(await self._traces.get(tenant_id, trace_id))
        except NotStored:
            raise NotFound from None

    async def replay(self, tenant_id: str, trace_id: str, formats: tuple[PromptFormat, ...] = ()) -> Replayed:
        """Make the prompt again, rendered in the formats asked for, else in the recorded ones.

        Raises NotFound; FailedPrecondition where a part of it was erased or a revision is gone; InvalidArgument for a
        format that cannot express it.
        """
        trace = await self.open(tenant_id, trace_id)
        trace.whole()
        again = run(trace, await self._lookups.candidates_of(trace))
        return rendered_as(again, formats) if formats else again

    async def answer_again(self, tenant_id: str, trace_id: str) -> Replayed:
        """The answer of a repeated turn: as it was, and refused where a fact in it was invalidated since."""
        trace = await self.open(tenant_id, trace_id)
        trace.whole()
        await self._check_facts(trace)
        return run(trace, await self._lookups.candidates_of(trace))

    async def _check_facts(self, trace: OpenedTrace) -> None:
        shown = _shown_facts(trace)
        facts = await self._lookups.facts(trace.user, shown)
        for number in shown:
            fact = facts.get(number)
            if fact is None or fact.state in (FactState.INVALIDATED, FactState.DELETED):
                raise FailedPrecondition(
                    Reason.INVALIDATED,
                    f"the answer kept for this turn rests on fact/{number}, which was invalidated or deleted since: "
                    "ask with a new turn id",
                    {"field": "turn.turn_id", "item_id": f"fact/{number}"},
                )


def run(trace: OpenedTrace, surroundings: Surroundings) -> Replayed:
    """The prompt again from what was looked up. Raises FailedPrecondition where something of it was erased."""
    content = trace.whole()
    try:
        assembly = replay(trace.record, content, surroundings)
    except ContentErased as error:
        raise trace.erased(error.item) from None
    except TraceError:
        raise unreadable(trace) from None
    assembly = replace(assembly, slots=content.slots_after, warnings=content.warnings)
    return Replayed(trace, assembly, compare(trace.record, content, assembly))


def rendered_as(replayed: Replayed, formats: tuple[PromptFormat, ...]) -> Replayed:
    """The same prompt in these formats. They take no part in its budget, which is the recorded one."""
    prompt = replayed.assembly.prompt
    rendered = {name: prompt.rendered.get(name) or _render(replayed, name) for name in formats}
    return replace(replayed, assembly=replace(replayed.assembly, prompt=replace(prompt, rendered=rendered)))


def _render(replayed: Replayed, name: PromptFormat) -> Rendered:
    prompt = replayed.assembly.prompt
    try:
        return FORMATS[name].render(prompt.messages, prompt.prefix, prompt.breakpoints)
    except UnrenderablePromptError:
        raise InvalidArgument.of(
            "formats", f"{name} cannot express this prompt: ask for another format"
        ) from None


def _shown_facts(trace: OpenedTrace) -> list[int]:
    block = find_block(trace.record, SourceKind.FACT)
    if block is None:
        return []
    excluded = OUTCOMES.index(Outcome.EXCLUDED)
    codes = block.outcomes.tolist()
    return [number for number, code in zip(numbers(block), codes, strict=True) if code != excluded]
