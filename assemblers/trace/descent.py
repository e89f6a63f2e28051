"""Lines of descent: what happened to the thing behind an item, from its origin to this prompt and after
it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from assemblers.records import Excerpt, Fact, FactState, Material, PrefixRevision, Slots, Turn
from assemblers.trace.record import TraceContent, TraceRecord
from assemblers.trace.replay import Surroundings


class StepKind(StrEnum):
    """What can happen to an item. The last four happened after the prompt."""

    OBSERVED = "OBSERVED"
    WRITTEN = "WRITTEN"
    ADMITTED = "ADMITTED"
    SUPERSEDED_OTHER = "SUPERSEDED_OTHER"
    ARCHIVED = "ARCHIVED"
    SELECTED = "SELECTED"
    SUPERSEDED = "SUPERSEDED"
    INVALIDATED = "INVALIDATED"
    EXPIRED = "EXPIRED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a line of descent. `time` is None where none is on record; `reference` names what it
    concerns, empty for the item itself."""

    kind: StepKind
    time: datetime | None
    actor: str
    description: str
    reference: str = ""


def fact_origin(fact: Fact, record: TraceRecord, given: Surroundings) -> Iterator[Step]:
    """From the reading at the source to the last supersession before the prompt."""
    turn = f" in turn {fact.source_turn}" if fact.source_turn else ""
    yield Step(
        StepKind.OBSERVED, fact.read_time, fact.source, f"read at {fact.source}{turn}", fact.source_turn
    )
    how = f"{fact.origin.lower()}, confidence {fact.confidence_permille / 1000:g}"
    until = f"expires {fact.expire_time:%Y-%m-%d %H:%M} UTC"
    written = f"written as fact/{fact.no} by {fact.writer}: {how}, {until}"
    yield Step(StepKind.WRITTEN, fact.write_time, fact.writer, written)
    key = given.policy.policy.facts.key(fact.key)
    if key is not None:
        allowed = f"key {fact.key} is on the allowlist, to serve: {key.purpose}"
        yield Step(StepKind.ADMITTED, fact.write_time, record.policy, allowed, "facts.allowlist")
    for older in _replaced_by(fact, given):
        what = f"superseded fact/{older.no}, which was read at {older.source}"
        yield Step(
            StepKind.SUPERSEDED_OTHER,
            max(older.write_time, fact.write_time),
            fact.writer,
            what,
            f"fact/{older.no}",
        )


def _replaced_by(fact: Fact, given: Surroundings) -> list[Fact]:
    older = (f for f in given.facts.values() if f.superseded_by == fact.no)
    return sorted(older, key=lambda f: f.revision)


def fact_aftermath(fact: Fact, record: TraceRecord, given: Surroundings, as_of: datetime) -> Iterator[Step]:
    """What became of a fact between the prompt and `as_of`."""
    newer = given.facts.get(fact.superseded_by)
    if newer is not None and newer.write_time > record.now:
        what = f"superseded by fact/{newer.no}, read at {newer.source}"
        yield Step(StepKind.SUPERSEDED, newer.write_time, newer.writer, what, f"fact/{newer.no}")
    invalidated = fact.invalidated_time
    if invalidated is not None and invalidated > record.now and fact.state is FactState.INVALIDATED:
        yield Step(
            StepKind.INVALIDATED,
            invalidated,
            "",
            f"invalidated: {fact.invalidation_reason or 'no reason given'}",
        )
    if record.now < fact.expire_time <= as_of:
        yield Step(StepKind.EXPIRED, fact.expire_time, "", "expired")
    if fact.state is FactState.DELETED:
        yield Step(StepKind.DELETED, invalidated, "", "deleted for good")


def excerpt_origin(excerpt: Excerpt) -> Iterator[Step]:
    """From the turn to the archive."""
    who = excerpt.speaker or excerpt.role.lower()
    said = f"said in session {excerpt.session_id}, turn {excerpt.turn_id}"
    yield Step(StepKind.OBSERVED, excerpt.occur_time, who, said, excerpt.turn_id)
    kept = f"kept as excerpt/{excerpt.no}, number {excerpt.position} of its session"
    yield Step(StepKind.ARCHIVED, None, "", kept, excerpt.session_id)


def slot_origin(ref: str, slots: Slots, turn_times: Mapping[str, datetime]) -> Iterator[Step]:
    """Who set a slot, from which turn, and how surely. `ref` is `focus`, `filter/KEY`, `format`,
    `question/TURN`. A slot knows its turn, of which `turn_times` may have the time."""
    name, _, key = ref.partition("/")
    if name == "focus" and slots.focus is not None:
        what = f"focus set to {slots.focus.type} {slots.focus.id}, {slots.focus.certainty.lower()}"
        time = turn_times.get(slots.focus.turn_id)
        yield Step(StepKind.OBSERVED, time, slots.focus.set_by, what, slots.focus.turn_id)
    for item in slots.filters:
        if name == "filter" and item.key == key:
            what = f"filter {item.key} set to {item.value}, {item.certainty.lower()}"
            time = turn_times.get(item.turn_id)
            yield Step(StepKind.OBSERVED, time, item.set_by, what, item.turn_id)
    for question in slots.recent_questions:
        if name == "question" and question.turn_id == key:
            time = turn_times.get(key)
            yield Step(StepKind.OBSERVED, time, "user", f"asked in turn {key}", key)
    if name == "format" and slots.answer_format:
        yield Step(StepKind.OBSERVED, None, "", f"answer format set to {slots.answer_format}")


def turn_origin(turn: Turn) -> Iterator[Step]:
    """An open turn's text, calls or results."""
    who = turn.speaker or turn.role.lower()
    yield Step(StepKind.OBSERVED, turn.occur_time, who, f"came with turn {turn.turn_id}", turn.turn_id)


def question_origin(content: TraceContent) -> Iterator[Step]:
    """The question that the prompt answers."""
    turn = content.turn
    asked = f"asked in turn {turn.question_turn_id}"
    yield Step(StepKind.OBSERVED, turn.question_time, "user", asked, turn.question_turn_id)


def material_origin(item: Material, record: TraceRecord) -> Iterator[Step]:
    """A document of the caller's."""
    revision = f", revision {item.document_revision}" if item.document_revision else ""
    yield Step(
        StepKind.OBSERVED,
        item.read_time,
        item.source,
        f"read at {item.source or 'an unnamed source'}{revision}",
    )
    yield Step(
        StepKind.WRITTEN, record.now, "the caller", f"handed over with this turn as material/{item.index}"
    )


def prefix_origin(prefix: PrefixRevision) -> Iterator[Step]:
    """The system text and its tools."""
    yield Step(
        StepKind.WRITTEN, prefix.create_time, prefix.tenant_id, "registered as a prefix revision", prefix.name
    )


def policy_origin(record: TraceRecord, field: str) -> Iterator[Step]:
    """A text that the policy's author wrote."""
    yield Step(StepKind.WRITTEN, None, record.policy, f"written in the policy as {field}", field)
