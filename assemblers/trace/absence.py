"""Why something is absent from a prompt, and what would have let it in.

What the trace holds is read from it. What lay below its cut-off is scored again, in the archive as it was
then and by the arithmetic that ranked it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from assemblers.assembly import SourceKind
from assemblers.ranking import analyze, query_terms
from assemblers.records import Excerpt, Fact, FactState, Reason, SectionKind, Subject
from assemblers.trace.archive_then import ArchiveThen
from assemblers.trace.candidates import Candidate, candidate, find_block, find_row, numbers, with_refs
from assemblers.trace.findings import (
    Absence,
    Finding,
    SectionGone,
    degraded,
    present,
    second,
    section_missing,
)
from assemblers.trace.record import TraceContent, TraceRecord
from assemblers.trace.remedies import Remedy, excerpt_remedy, fact_remedy
from assemblers.trace.replay import Surroundings

MAX_EXPLANATIONS: Final = 20


@dataclass(frozen=True, slots=True)
class MissedFact:
    """The fact of that number."""

    no: int


@dataclass(frozen=True, slots=True)
class MissedKey:
    """The facts of a key, about a subject (None: the user)."""

    key: str
    subject: Subject | None = None


@dataclass(frozen=True, slots=True)
class MissedExcerpt:
    """The excerpt of that number."""

    no: int


@dataclass(frozen=True, slots=True)
class MissedText:
    """Facts, excerpts and material in which all of these words occur, whatever their case and ending."""

    text: str


_NOT_GATHERED: Final = "It was on record, and not in what was gathered for this prompt: ask again."

Missed = MissedFact | MissedKey | MissedExcerpt | MissedText


class Trace:
    """Both sides of a trace, with what it names. `surroundings` hold all facts and excerpts of the user,
    deleted facts with their state, and those written after the trace too."""

    def __init__(self, record: TraceRecord, content: TraceContent, surroundings: Surroundings) -> None:
        self.record, self.content, self.surroundings = record, content, surroundings
        self.archive = ArchiveThen(record, content, surroundings)
        self.blocks = with_refs(record, content)

    def section_gone(self, kind: SectionKind) -> SectionGone | None:
        """Why a whole section was missing; None where it was not."""
        return section_missing(kind, self.surroundings.policy) or degraded(kind, self.content)


def explain_absence(trace: Trace, missed: Missed) -> tuple[Absence, ...]:
    """One explanation for each thing that fits, the likeliest first, at most 20, at least one. What is in the
    prompt after all has the finding PRESENT; of a key's values it is the first."""
    if isinstance(missed, MissedFact):
        return (_fact(trace, missed.no),)
    if isinstance(missed, MissedKey):
        return _key(trace, missed)
    if isinstance(missed, MissedExcerpt):
        return (_excerpt(trace, missed.no),)
    return _text(trace, missed.text)


def _key(trace: Trace, missed: MissedKey) -> tuple[Absence, ...]:
    subject = missed.subject or Subject()
    facts = [f for f in trace.surroundings.facts.values() if f.key == missed.key and f.subject == subject]
    facts.sort(key=lambda fact: (-fact.read_time.timestamp(), -fact.revision))
    if facts:
        found = sorted((_fact(trace, fact.no) for fact in facts), key=_tellingness)
        return tuple(found[:MAX_EXPLANATIONS])
    if trace.surroundings.policy.policy.facts.key(missed.key) is not None:
        remedy, policy_field = f"No fact of key {missed.key} is on record: record one.", ""
    else:
        remedy = (
            f"No fact of key {missed.key} is on record, and the policy admits none:"
            " add the key to the allowlist."
        )
        policy_field = "facts.allowlist"
    return (Absence(Finding.NOT_ON_RECORD, "", "", None, policy_field, remedy),)


def _fact(trace: Trace, no: int) -> Absence:
    item_id, fact = f"fact/{no}", trace.surroundings.facts.get(no)
    text = "" if fact is None or fact.state is FactState.DELETED else _fact_text(fact)
    found = _recorded(trace, SourceKind.FACT, no)
    if found is not None and found.is_in:
        return present(found, text)
    if found is not None:
        return _excluded(found, text, fact_remedy(found, fact, trace.record, trace.surroundings))
    if fact is None:
        return Absence(
            Finding.NOT_ON_RECORD, item_id, "", None, "", f"{item_id} was never recorded: record it."
        )
    if fact.write_time > trace.record.now:
        return _written_later(fact, text, trace)
    return _fact_not_considered(fact, text, trace)


def _written_later(fact: Fact, text: str, trace: Trace) -> Absence:
    remedy = (
        f"It was written at {fact.write_time:%Y-%m-%d %H:%M:%S} UTC, after this prompt of "
        f"{trace.record.now:%Y-%m-%d %H:%M:%S} UTC: later prompts may have it."
    )
    figures = {"write_time": second(fact.write_time), "now": second(trace.record.now)}
    return Absence(Finding.RECORDED_LATER, f"fact/{fact.no}", text, None, "", remedy, figures)


def _fact_not_considered(fact: Fact, text: str, trace: Trace) -> Absence:
    item_id, gone = f"fact/{fact.no}", trace.section_gone(SectionKind.FACTS)
    if gone is not None:
        return Absence(Finding.NOT_CONSIDERED, item_id, text, *gone)
    return Absence(Finding.NOT_CONSIDERED, item_id, text, *_retired(fact, trace))


def _retired(fact: Fact, trace: Trace) -> SectionGone:
    """Why a fact of an older date was no candidate: of each key only the latest values are gathered."""
    newer = trace.surroundings.facts.get(fact.superseded_by)
    if fact.state is FactState.SUPERSEDED and (newer is None or newer.write_time <= trace.record.now):
        place = f"A newer value of {fact.key} had taken its place (fact/{fact.superseded_by})"
        return Reason.SUPERSEDED, "", f"{place}: correct that one."
    invalidated = fact.invalidated_time
    if fact.state is FactState.INVALIDATED and (invalidated is None or invalidated <= trace.record.now):
        why = fact.invalidation_reason or "no reason given"
        return Reason.INVALIDATED, "", f"It was invalidated ({why}): record it anew from its source."
    if fact.state is FactState.DELETED:
        return Reason.ERASED, "", "It was deleted for good: record it anew if it still holds."
    return None, "", _NOT_GATHERED


def _excerpt(trace: Trace, no: int) -> Absence:
    item_id, excerpt = f"excerpt/{no}", trace.surroundings.excerpts.get(no)
    text = excerpt.text if excerpt else ""
    found = _recorded(trace, SourceKind.EXCERPT, no)
    if found is not None and found.is_in:
        return present(found, text)
    if found is not None:
        return _excluded(found, text, excerpt_remedy(found, excerpt, trace.record, trace.surroundings))
    if excerpt is None:
        return Absence(
            Finding.NOT_ON_RECORD, item_id, "", None, "", f"{item_id} was never archived: import it."
        )
    return _excerpt_not_considered(excerpt, trace)


def _excerpt_not_considered(excerpt: Excerpt, trace: Trace) -> Absence:
    item_id, history = f"excerpt/{excerpt.no}", trace.record.history
    gone = trace.section_gone(SectionKind.HISTORY)
    if gone is None and history is None:
        gone = None, "", _NOT_GATHERED
    if gone is not None:
        return Absence(Finding.NOT_CONSIDERED, item_id, excerpt.text, *gone)
    if history is not None and excerpt.no >= history.archive_end_no:
        remedy = "It was archived after this prompt: later prompts may have it."
        figures = {"number": str(excerpt.no), "archive_end_number": str(history.archive_end_no)}
        return Absence(Finding.RECORDED_LATER, item_id, excerpt.text, None, "", remedy, figures)
    return trace.archive.below_the_cutoff(excerpt)


def _excluded(found: Candidate, text: str, remedy: Remedy) -> Absence:
    return Absence(
        Finding.EXCLUDED,
        found.item_id,
        text,
        found.reason,
        found.policy_field,
        remedy.text,
        remedy.figures,
        found,
    )


def _recorded(trace: Trace, kind: SourceKind, no: int) -> Candidate | None:
    """The candidate that the trace holds, or None."""
    block = find_block(trace.record, kind)
    known = [] if block is None else numbers(block)
    return candidate(block, known.index(no)) if block is not None and no in known else None


def _text(trace: Trace, text: str) -> tuple[Absence, ...]:
    terms = set(query_terms(text))
    found = list(_with_terms(trace, terms)) if terms else []
    found.sort(key=_likeliness)
    if found:
        return tuple(found[:MAX_EXPLANATIONS])
    remedy = "No fact, excerpt or material has all of these words: record or import what they stand in."
    if not terms:
        remedy = "These words are too common to be searched for: name a key, a number or rarer words."
    return (Absence(Finding.NOT_ON_RECORD, "", "", None, "", remedy),)


def _with_terms(trace: Trace, terms: set[str]) -> Iterator[Absence]:
    given = trace.surroundings
    for fact in given.facts.values():
        if fact.state is not FactState.DELETED and terms <= set(analyze(f"{fact.key} {_fact_text(fact)}")):
            yield _fact(trace, fact.no)
    matching = [excerpt.no for excerpt in given.excerpts.values() if terms <= excerpt.terms.keys()]
    for no in trace.archive.best(matching, MAX_EXPLANATIONS):
        yield _excerpt(trace, no)
    for item in trace.content.material:
        if terms <= set(analyze(f"{item.title} {item.text}")):
            yield _material(trace, f"material/{item.index}", item.text)


def _material(trace: Trace, item_id: str, text: str) -> Absence:
    found = find_row(trace.blocks, item_id)
    if found is None:
        missing = section_missing(SectionKind.MATERIAL, trace.surroundings.policy)
        unknown = (None, "", "The trace does not hold it: ask about the facts and excerpts instead.")
        return Absence(Finding.NOT_CONSIDERED, item_id, text, *(missing or unknown))
    document = candidate(*found)
    if document.is_in:
        return present(document, text)
    return _excluded(document, text, fact_remedy(document, None, trace.record, trace.surroundings))


_LIKELIEST: Final = (
    Finding.EXCLUDED,
    Finding.NOT_CONSIDERED,
    Finding.PRESENT,
    Finding.RECORDED_LATER,
    Finding.NOT_ON_RECORD,
)


def _likeliness(absence: Absence) -> int:
    """What was considered and left out is the likeliest to be missed."""
    return _LIKELIEST.index(absence.finding)


_MOST_TELLING: Final = (
    Finding.PRESENT,
    Finding.EXCLUDED,
    Finding.NOT_CONSIDERED,
    Finding.RECORDED_LATER,
    Finding.NOT_ON_RECORD,
)


def _tellingness(absence: Absence) -> int:
    """Of one key's values: what the prompt has answers the question, and what came later never does."""
    return _MOST_TELLING.index(absence.finding)


def _fact_text(fact: Fact) -> str:
    return fact.value.isoformat() if isinstance(fact.value, datetime) else str(fact.value)
