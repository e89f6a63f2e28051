"""Why an item is in a prompt: its fate, its bytes, its line of descent, and what it was preferred to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from assemblers.assembly import CandidateBlock, Part, Prompt, SectionReport, SourceKind, Span
from assemblers.records import Fact, Outcome, Reason, SectionKind, Turn
from assemblers.trace.candidates import Candidate, Location, candidate, find_row, with_refs
from assemblers.trace.descent import (
    Step,
    StepKind,
    excerpt_origin,
    fact_aftermath,
    fact_origin,
    material_origin,
    policy_origin,
    prefix_origin,
    question_origin,
    slot_origin,
    turn_origin,
)
from assemblers.trace.errors import NotInPrompt
from assemblers.trace.record import TraceContent, TraceRecord
from assemblers.trace.replay import Surroundings

MAX_WON_OVER: Final = 20

_BEATEN: Final = frozenset(
    {Reason.OVER_BUDGET, Reason.OVER_CEILING, Reason.BELOW_THRESHOLD, Reason.DUPLICATE}
)


@dataclass(frozen=True, slots=True)
class Looked:
    """What explaining may look at beside the trace: what it names, the replayed prompt (None where it could
    not be replayed), the instant up to which the aftermath is told, and when turns of the session came, by their ids,
    as far as that is known."""

    surroundings: Surroundings
    prompt: Prompt | None
    as_of: datetime
    turn_times: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an item is there. `locations` are all runs of bytes that it fills, and `text` is what they hold,
    empty without a replayed prompt. `steps` begin with the oldest. `won_over` are candidates of its section
    that it was preferred to, the best first, at most 20. `figures` are tokens of the model by name."""

    candidate: Candidate
    text: str
    locations: tuple[Location, ...]
    steps: tuple[Step, ...]
    won_over: tuple[Candidate, ...]
    figures: Mapping[str, int]


def explain_item(record: TraceRecord, content: TraceContent, item_id: str, looked: Looked) -> Explanation:
    """Explain an item of the prompt. Raises `NotInPrompt` for anything that fills none of its bytes."""
    blocks = with_refs(record, content)
    found = find_row(blocks, item_id)
    runs = list(_runs(looked.prompt, item_id))
    chosen = _candidate(found, item_id, runs)
    given = looked.surroundings
    origin = sorted(_origin(chosen, record, content, looked), key=_time_of)
    after = sorted(_aftermath(chosen, record, looked), key=_time_of)
    return Explanation(
        chosen,
        "".join(run.text for run in runs),
        tuple(run.location for run in runs) or tuple([chosen.location] if chosen.location else []),
        (*origin, _selected(chosen, record, found), *after),
        _won_over(found, given),
        figures_of(record, chosen.section),
    )


def figures_of(record: TraceRecord, section: SectionKind) -> dict[str, int]:
    """The budget's figures: of the prompt, and of the section where the policy has it."""
    figures = {"limit": record.budget.limit, "used": record.budget.used}
    line = report_of(record, section)
    if line is not None:
        figures |= {"section_floor": line.floor, "section_ceiling": line.ceiling, "section_used": line.used}
    return figures


def report_of(record: TraceRecord, section: SectionKind) -> SectionReport | None:
    """The section's line of the budget report."""
    return next((line for line in record.budget.sections if line.section is section), None)


def _time_of(step: Step) -> tuple[bool, float]:
    """The order of time; what has none stays where it was told, behind what has."""
    return step.time is None, step.time.timestamp() if step.time else 0.0


class _Run(NamedTuple):
    """A run of bytes of an item."""

    location: Location
    text: str
    section: SectionKind


def _runs(prompt: Prompt | None, item_id: str) -> Iterator[_Run]:
    if prompt is None:
        return
    for place, message in enumerate(prompt.messages):
        for index, part in enumerate(message.parts):
            for span in part.spans:
                if span.item_id == item_id:
                    location = Location(place, index, span.offset, span.length)
                    yield _Run(location, _text(part, span), part.section)
    tools = prompt.prefix.tools if prompt.prefix else ()
    for index, tool in enumerate(tools):
        if item_id == f"tool/{tool.name}":
            definition = tool.definition_json
            location = Location(-1, index, 0, len(definition.encode()))
            yield _Run(location, definition, SectionKind.PREFIX)


def _text(part: Part, span: Span) -> str:
    return part.text.encode()[span.offset : span.offset + span.length].decode()


def _candidate(found: tuple[CandidateBlock, int] | None, item_id: str, runs: Sequence[_Run]) -> Candidate:
    """The item's recorded fate; for what is no candidate (headings, dates, labels), that its section brought
    it."""
    if found is not None:
        chosen = candidate(*found)
        if not chosen.is_in:
            raise NotInPrompt(item_id)
        return chosen
    if not runs:
        raise NotInPrompt(item_id)
    kind, ref = _kind_of(item_id)
    policy_field = ref if kind is SourceKind.POLICY_TEXT else ""
    return Candidate(
        item_id,
        runs[0].section,
        kind,
        ref,
        Outcome.INCLUDED,
        Reason.REQUIRED,
        policy_field,
        {},
        0,
        runs[0].location,
    )


_KINDS: Final[Mapping[str, SourceKind]] = {
    "archived-session": SourceKind.ARCHIVED_SESSION,
    "call": SourceKind.TURN,
    "excerpt": SourceKind.EXCERPT,
    "fact": SourceKind.FACT,
    "material": SourceKind.MATERIAL,
    "policy": SourceKind.POLICY_TEXT,
    "prefix": SourceKind.PREFIX_REVISION,
    "question": SourceKind.TURN,
    "result": SourceKind.TURN,
    "slot": SourceKind.SLOT,
    "today": SourceKind.POLICY_TEXT,
    "tool": SourceKind.PREFIX_REVISION,
    "turn": SourceKind.TURN,
}
"""The kind of source by the first part of an item id."""


def _kind_of(item_id: str) -> tuple[SourceKind, str]:
    head, _, ref = item_id.partition("/")
    if head == "today":
        return SourceKind.POLICY_TEXT, "session.show_today"
    return _KINDS.get(head, SourceKind.TURN), ref


def _origin(chosen: Candidate, record: TraceRecord, content: TraceContent, looked: Looked) -> Iterator[Step]:
    given = looked.surroundings
    head, _, ref = chosen.item_id.partition("/")
    kind, _ = _kind_of(chosen.item_id)
    if kind is SourceKind.FACT and int(ref) in given.facts:
        yield from fact_origin(given.facts[int(ref)], record, given)
    elif kind is SourceKind.EXCERPT and int(ref) in given.excerpts:
        yield from excerpt_origin(given.excerpts[int(ref)])
    elif kind is SourceKind.ARCHIVED_SESSION:
        yield from _session_origin(ref, given)
    elif kind is SourceKind.SLOT:
        yield from slot_origin(ref, content.slots_before, looked.turn_times)
    elif kind is SourceKind.MATERIAL:
        yield from (
            step for m in content.material if str(m.index) == ref for step in material_origin(m, record)
        )
    elif kind is SourceKind.PREFIX_REVISION and given.prefix is not None:
        yield from prefix_origin(given.prefix)
    elif kind is SourceKind.POLICY_TEXT:
        yield from policy_origin(record, ref or "session.show_today")
    elif head == "question":
        yield from question_origin(content)
    else:
        yield from (step for turn in _turns_with(chosen.item_id, content) for step in turn_origin(turn))


def _session_origin(session_id: str, given: Surroundings) -> Iterator[Step]:
    times = [e.session_time for e in given.excerpts.values() if e.session_id == session_id]
    if times:
        said = "the session that the excerpts below come from"
        yield Step(StepKind.OBSERVED, times[0], "", said, session_id)


def _turns_with(item_id: str, content: TraceContent) -> Iterator[Turn]:
    """The open turns that hold a text, call or result."""
    head, _, ref = item_id.partition("/")
    for turn in content.turn.open_turns:
        kinds = {type(item).__name__ for item in turn.contents if getattr(item, "call_id", None) == ref}
        if (head == "turn" and turn.turn_id == ref) or _CONTENT_KIND.get(head) in kinds:
            yield turn


_CONTENT_KIND: Final = {"call": "ToolCall", "result": "ToolResult"}


def _aftermath(chosen: Candidate, record: TraceRecord, looked: Looked) -> Iterator[Step]:
    if chosen.source_kind is SourceKind.FACT:
        fact = looked.surroundings.facts.get(int(chosen.ref))
        if fact is not None:
            yield from fact_aftermath(fact, record, looked.surroundings, looked.as_of)


def _selected(chosen: Candidate, record: TraceRecord, found: tuple[CandidateBlock, int] | None) -> Step:
    what = "included in this prompt"
    place = chosen.location
    if place is not None:
        end = place.offset + place.length
        what += f" at bytes {place.offset} to {end} of message {place.message}, part {place.part}"
    if found is not None and chosen.scores:
        of = f" of {record.history.matched} that matched" if record.history else ""
        legs = ", ".join(f"{leg} {score / 1e6:.3f}" for leg, score in chosen.scores.items())
        what += f", as number {found[1] + 1}{of} ({legs})"
    return Step(
        StepKind.SELECTED, record.now, record.policy, f"{what}: {_words(chosen.reason)}", chosen.policy_field
    )


def _words(reason: Reason) -> str:
    return reason.lower().replace("_", " ")


def _won_over(found: tuple[CandidateBlock, int] | None, given: Surroundings) -> tuple[Candidate, ...]:
    if found is None:
        return ()
    block, row = found
    rows = (candidate(block, other) for other in range(len(block)) if other != row)
    if block.source_kind is SourceKind.FACT:
        return _facts_won_over(int(block.refs[row]), list(rows), given)
    if block.scores:
        rows = (candidate(block, other) for other in range(row + 1, len(block)))
    beaten = [other for other in rows if not other.is_in and other.reason in _BEATEN]
    return tuple(beaten[:MAX_WON_OVER])


def _facts_won_over(no: int, others: list[Candidate], given: Surroundings) -> tuple[Candidate, ...]:
    """Values of the same key that it replaced, then facts that found no room, surest and newest first."""
    fact = given.facts.get(no)
    replaced = [
        c for c in others if c.reason is Reason.SUPERSEDED and _same_key(fact, given.facts.get(int(c.ref)))
    ]
    crowded = [c for c in others if not c.is_in and c.reason in _BEATEN]
    crowded.sort(key=lambda c: _preference(given.facts.get(int(c.ref))))
    return tuple([*replaced, *crowded][:MAX_WON_OVER])


def _same_key(one: Fact | None, other: Fact | None) -> bool:
    return one is not None and other is not None and (one.subject, one.key) == (other.subject, other.key)


def _preference(fact: Fact | None) -> tuple[int, float]:
    return (-fact.confidence_permille, -fact.read_time.timestamp()) if fact else (1, 0.0)
