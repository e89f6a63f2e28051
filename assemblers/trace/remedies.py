"""What would have let a candidate in: one sentence with figures for each reason to leave it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from assemblers.assembly import SourceKind
from assemblers.policy.model import FactsSection, HistorySection
from assemblers.records import Excerpt, Fact, Reason
from assemblers.sections.archive import date_line
from assemblers.trace.candidates import Candidate, find_block, numbers
from assemblers.trace.explain import report_of
from assemblers.trace.findings import minute
from assemblers.trace.record import TraceRecord
from assemblers.trace.replay import Surroundings, model_tokens


@dataclass(frozen=True, slots=True)
class Remedy:
    """A sentence, and the figures it rests on."""

    text: str
    figures: Mapping[str, str] = field(default_factory=dict)


def fact_remedy(found: Candidate, fact: Fact | None, record: TraceRecord, given: Surroundings) -> Remedy:
    """What would have let a fact, or a document, in. `fact` is None for documents and where it is gone."""
    if found.reason in (Reason.OVER_CEILING, Reason.OVER_BUDGET):
        return _room(found, 0, record, given)
    return _other(found) if fact is None else _refusal(found, fact, record, given)


def _refusal(found: Candidate, fact: Fact, record: TraceRecord, given: Surroundings) -> Remedy:
    match found.reason:
        case Reason.SUPERSEDED:
            return _superseded(fact, record, given)
        case Reason.EXPIRED:
            return _expired(fact, record)
        case Reason.INVALIDATED:
            return _invalidated(fact)
        case Reason.KEY_NOT_ALLOWED:
            return _not_allowed(fact, given)
        case Reason.LOW_CONFIDENCE:
            return _doubtful(fact, given)
        case _:
            return _other(found)


def excerpt_remedy(
    found: Candidate, excerpt: Excerpt | None, record: TraceRecord, given: Surroundings
) -> Remedy:
    """What would have let an excerpt in. `excerpt` is None where it is gone."""
    if found.reason in (Reason.OVER_CEILING, Reason.OVER_BUDGET):
        return _room(found, _date_tokens(excerpt, record, given), record, given)
    settings = given.policy.policy.settings(HistorySection) or HistorySection()
    if found.reason is Reason.BELOW_THRESHOLD:
        return _below_threshold(found, settings, record)
    if found.reason is Reason.DUPLICATE and found.policy_field:
        return Remedy("It is of the session at hand, which the policy leaves out: allow it there.")
    if found.reason is Reason.KEY_NOT_ALLOWED:
        return Remedy(
            "It is the assistant's word, which the policy keeps out: include the assistant's turns."
        )
    return _other(found)


def _superseded(fact: Fact, record: TraceRecord, given: Surroundings) -> Remedy:
    newer = given.facts.get(fact.superseded_by) or _current(fact, record, given)
    if newer is None:
        return Remedy(f"A newer value of {fact.key} had taken its place: correct that one.")
    text = (
        f"fact/{newer.no}, read at {newer.source} on {_day(newer.read_time)}, had taken its place"
        f" (this one was read on {_day(fact.read_time)}): record a newer reading."
    )
    return Remedy(text, {"superseded_by": f"fact/{newer.no}", "read_time": minute(newer.read_time)})


def _current(fact: Fact, record: TraceRecord, given: Surroundings) -> Fact | None:
    """The value that held at the trace's instant."""
    rivals = [
        other for other in given.facts.values()
        if (other.subject, other.key) == (fact.subject, fact.key) and other.write_time <= record.now
        and (other.read_time, other.revision) > (fact.read_time, fact.revision)
    ]  # fmt: skip
    return max(rivals, key=lambda other: (other.read_time, other.revision), default=None)


def _expired(fact: Fact, record: TraceRecord) -> Remedy:
    late = record.now - fact.expire_time
    text = (
        f"It expired on {_day(fact.expire_time)}, {_days(late)} before this prompt, {fact.kind.lower()}"
        f" facts being kept for {_days(fact.expire_time - fact.read_time)} from their reading: read it"
        f" again at {fact.source}, or lengthen the time to live."
    )
    figures = {"expire_time": minute(fact.expire_time), "days_expired": str(late.days)}
    return Remedy(text, figures)


def _invalidated(fact: Fact) -> Remedy:
    when = f" on {_day(fact.invalidated_time)}" if fact.invalidated_time else ""
    why = f" ({fact.invalidation_reason})" if fact.invalidation_reason else ""
    figures = {"invalidated_time": minute(fact.invalidated_time)} if fact.invalidated_time else {}
    return Remedy(f"It was invalidated{when}{why}: record it anew from its source.", figures)


def _not_allowed(fact: Fact, given: Surroundings) -> Remedy:
    listed = ", ".join(sorted(key.key for key in given.policy.policy.facts.allowlist)) or "nothing"
    return Remedy(f"The policy's allowlist has {listed}, and not {fact.key}: add the key with its purpose.")


def _doubtful(fact: Fact, given: Surroundings) -> Remedy:
    settings = given.policy.policy.settings(FactsSection) or FactsSection()
    has, needs = fact.confidence_permille, settings.min_confidence_permille
    text = (
        f"Its confidence is {has / 1000:g}, and {needs / 1000:g} is asked for: confirm it, or ask for less."
    )
    return Remedy(text, {"confidence": f"{has / 1000:g}", "threshold": f"{needs / 1000:g}"})


def _below_threshold(found: Candidate, settings: HistorySection, record: TraceRecord) -> Remedy:
    """By keywords alone the score counts; with vectors the keyword score or the cosine must be high enough."""
    least = settings.min_score_micros
    if "cosine" not in found.scores:
        score = found.scores.get("total", 0)
        text = f"It scored {_micros(score)}; the threshold is {_micros(least)}: lower it."
        return Remedy(text, {"score": _micros(score), "threshold": _micros(least)})
    score = sum(found.scores.get(leg, 0) for leg in ("keyword", "neighbour", "session"))
    cosine, floor = found.scores["cosine"], record.history.floor_permille * 1000 if record.history else 0
    text = (
        f"Its keyword score is {_micros(score)} and its cosine {_micros(cosine)}; {_micros(least)} or {_micros(floor)}"
        " is asked for: lower one of the two."
    )
    figures = {"score": score, "threshold": least, "cosine": cosine, "similarity_floor": floor}
    return Remedy(text, {name: _micros(value) for name, value in figures.items()})


def _room(found: Candidate, group_tokens: int, record: TraceRecord, given: Surroundings) -> Remedy:
    """Of ceilings and budgets: how many tokens were missing. `group_tokens` is what its date line would cost
    too."""
    if found.policy_field.endswith((".max_facts", ".max_excerpts")):
        limit = found.policy_field.rsplit(".", 1)[-1]
        return Remedy(f"The section already had as many items as {limit} allows: raise it.")
    needed = model_tokens(record, given.counter).scaled(found.tokens + group_tokens)
    if found.reason is Reason.OVER_BUDGET:
        return _shortfall("budget", record.budget.limit, record.budget.used, needed)
    line = report_of(record, found.section)
    return _shortfall("ceiling", line.ceiling, line.used, needed) if line else _other(found)


def _shortfall(what: str, limit: int, used: int, needed: int) -> Remedy:
    missing = max(used + needed - limit, 1)
    text = (
        f"It needs {needed} tokens and {max(limit - used, 0)} of the {what} of {limit} were left: a {what} of"
        f" {limit + missing}, {missing} more, would have let it in beside what is there."
    )
    figures = {what: limit, "used_tokens": used, "needed_tokens": needed, "missing_tokens": missing}
    return Remedy(text, {name: str(value) for name, value in figures.items()})


def _date_tokens(excerpt: Excerpt | None, record: TraceRecord, given: Surroundings) -> int:
    """The line with the date of its session, unless that session is in the prompt already."""
    if excerpt is None or excerpt.session_no in _sessions_shown(record, given):
        return 0
    return given.counter.count(date_line(excerpt.session_time, record.now, given.zone))


def _sessions_shown(record: TraceRecord, given: Surroundings) -> set[int]:
    block = find_block(record, SourceKind.EXCERPT)
    shown = [] if block is None else np.array(numbers(block))[block.offsets >= 0].tolist()
    return {given.excerpts[number].session_no for number in shown if number in given.excerpts}


def _other(found: Candidate) -> Remedy:
    return Remedy(_PLAIN.get(found.reason, f"It was left out for the reason {found.reason}."))


_PLAIN: Final[Mapping[Reason, str]] = {
    Reason.DUPLICATE: "It says no more than another item of the prompt: nothing is lost without it.",
    Reason.ERASED: "It was erased before this prompt: record it anew if it still holds.",
    Reason.SUPERSEDED: "A newer value had taken its place: record a newer reading.",
    Reason.EXPIRED: "It had expired: read it again at its source.",
    Reason.INVALIDATED: "It was invalidated: record it anew from its source.",
    Reason.KEY_NOT_ALLOWED: "Its key is not on the policy's allowlist: add the key with its purpose.",
    Reason.LOW_CONFIDENCE: "It is held with too little confidence: confirm it.",
}
"""What is said where the thing itself is gone and has no figures any more."""


def _day(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d}"


def _days(length: timedelta) -> str:
    if length < timedelta(days=1):
        return "less than a day"
    return "1 day" if length.days == 1 else f"{length.days} days"


def _micros(score: int) -> str:
    return f"{score / 1e6:.6f}"
