"""The facts section: what is on record about the user, sorted by key and chosen without looking at the question.

A user's facts look the same all day, so they are rendered and counted once (`prepare_facts`) and the result serves
every call until a fact changes, one expires, or the date does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

import numpy as np

from assemblers.assembly import Bytes1, CandidateBlock, Int32s, Part, Source, SourceKind
from assemblers.budget import Shelf
from assemblers.decisions import (
    CODE,
    EXCLUDED,
    INCLUDED,
    NO_SCORES,
    NOT_PLACED,
    field_of,
    int32s,
)
from assemblers.digests import text_digest
from assemblers.plan import MAX_FACTS_FIELD, SectionPlan, plan_for
from assemblers.policy.model import FactsSection, Policy, PolicyRevision
from assemblers.records import Fact, FactState, Reason, SectionKind, ValueType
from assemblers.sections.fact_lines import fact_line, hidden_in, value_text
from assemblers.sections.fact_rules import Verdict, judge
from assemblers.sections.pieces import Piece, make_part, piece
from assemblers.text import until_next_midnight
from assemblers.tokens import ModelTokens, TokenCounter


@dataclass(frozen=True, slots=True)
class FactSelection:
    """Some facts, rendered: the part with its digest, the quoted values in it, and the decisions in columns."""

    taken: Sequence[int]
    cost: int
    stopped: int | None
    part: Part | None
    sha256: str
    values: frozenset[str]
    outcomes: Bytes1
    reasons: Bytes1
    fields: Bytes1
    offsets: Int32s
    lengths: Int32s


@dataclass(frozen=True, slots=True)
class PreparedFacts:
    """A user's facts under one policy, zone and vocabulary, good for every instant that `covers` accepts.

    `rows` has all facts in the order of rendering (key, subject, number); `lines` has those that may be rendered,
    `line_rows` their places in `rows`, and `preference` the places in `lines`, best first, that `costs` follow.
    `whole` is what is rendered where the prompt has room: everything up to the section's ceiling. `hidden` is how many
    characters were left out of the lines, by item id, where any were. `prepared_for` is the policy's digest, the
    vocabulary, the factor and the zone.
    """

    prepared_for: tuple[str, str, int, tzinfo]
    valid_from: datetime
    valid_until: datetime
    section: SectionPlan
    max_facts: int | None
    rows: tuple[Fact, ...]
    numbers: Int32s
    verdicts: tuple[Verdict, ...]
    tokens: Int32s
    lines: tuple[Piece, ...]
    line_rows: tuple[int, ...]
    preference: tuple[int, ...]
    costs: tuple[int, ...]
    whole: FactSelection
    hidden: Mapping[str, int]

    def covers(self, now: datetime) -> bool:
        """Whether ages and expiries are at `now` what they were when this was prepared."""
        return self.valid_from <= now < self.valid_until


def prepare_facts(
    policy: PolicyRevision, facts: Sequence[Fact], now: datetime, zone: tzinfo, tokens: ModelTokens
) -> PreparedFacts:
    """Judge, render and count a user's facts, given in any order; `now` is in UTC.

    Reuse the result for the same facts, policy digest, zone, vocabulary and factor while it `covers` the instant.
    Raises ValueError where the policy has no FACTS section, and what the counter raises.
    """
    section = plan_for(policy, tokens).facts
    if section is None or not isinstance(settings := section.section.settings, FactsSection):
        raise ValueError("policy: it has no FACTS section; prepare no facts for it")
    rows = tuple(sorted(facts, key=lambda fact: (fact.key, fact.subject.kind, fact.subject.id, fact.no)))
    verdicts = tuple(judge(rows, policy.policy, settings, now))
    line_rows = tuple(row for row, verdict in enumerate(verdicts) if verdict[0] is Reason.WITHIN_BUDGET)
    lines = _lines([rows[row] for row in line_rows], policy.policy, now, zone, tokens.counter)
    preference = tuple(sorted(range(len(lines)), key=lambda line: _rank(rows[line_rows[line]])))
    counts = np.zeros(len(rows), np.int32)
    counts[list(line_rows)] = [line.tokens for line in lines]
    prepared = PreparedFacts(
        prepared_for=(policy.digest, tokens.counter.id, tokens.factor_permille, zone),
        valid_from=now, valid_until=_valid_until(rows, now, zone), section=section, max_facts=settings.max_facts,
        rows=rows, numbers=int32s([fact.no for fact in rows]), verdicts=verdicts, tokens=counts,
        lines=lines, line_rows=line_rows, preference=preference,
        costs=tuple(lines[line].tokens for line in preference), whole=_NOTHING,
        hidden=_hidden([rows[row] for row in line_rows]),
    )  # fmt: skip
    return _with_whole(prepared)


def facts_shelf(prepared: PreparedFacts, own_message: int) -> Shelf:
    """The section's candidates for the budget; `own_message` is what a message of its own costs, 0 without one."""
    section, whole = prepared.section, prepared.whole
    return Shelf(
        SectionKind.FACTS, prepared.costs, section.floor, section.ceiling, section.priority,
        section.heading_tokens + own_message, max_items=prepared.max_facts,
        whole=(whole.taken, whole.cost, whole.stopped),
    )  # fmt: skip


def select_facts(prepared: PreparedFacts, shelf: Shelf) -> FactSelection:
    """Render what the budget took."""
    if shelf.taken is prepared.whole.taken:
        return prepared.whole
    return _select(prepared, shelf)


def facts_block(prepared: PreparedFacts, selection: FactSelection, message: int) -> CandidateBlock:
    """The fate of every fact; the part is the first of its message."""
    return CandidateBlock(
        SectionKind.FACTS, SourceKind.FACT, "fact/", prepared.numbers, selection.outcomes, selection.reasons,
        selection.fields, prepared.section.fields, prepared.tokens, selection.offsets, selection.lengths, message, 0,
        NO_SCORES,
    )  # fmt: skip


def _rank(fact: Fact) -> tuple[int, float, int]:
    """The total order of preference: confidence, then the newer reading, then the number."""
    return -fact.confidence_permille, -fact.read_time.timestamp(), fact.no


def _lines(
    facts: Sequence[Fact], policy: Policy, now: datetime, zone: tzinfo, counter: TokenCounter
) -> tuple[Piece, ...]:
    enumerated = {key.key: key.values for key in policy.facts.allowlist}
    lines = []
    for fact in facts:
        line = fact_line(fact, enumerated.get(fact.key, ()), now, zone)
        source = Source(SourceKind.FACT, str(fact.no), fact.read_time)
        lines.append(piece(counter, line, f"fact/{fact.no}", source))
    return tuple(lines)


def _hidden(facts: Sequence[Fact]) -> dict[str, int]:
    return {f"fact/{fact.no}": count for fact in facts if (count := hidden_in(fact))}


def _valid_until(facts: Sequence[Fact], now: datetime, zone: tzinfo) -> datetime:
    """Until the date changes or a fact expires, rendered or not: its reason for being absent would be another."""
    expiries = [f.expire_time for f in facts if f.state is FactState.CURRENT and f.expire_time > now]
    try:
        midnight = now + until_next_midnight(now, zone)
    except OverflowError:
        midnight = datetime.max.replace(tzinfo=UTC)
    return min([midnight, *expiries])


def _with_whole(prepared: PreparedFacts) -> PreparedFacts:
    ceiling = prepared.section.ceiling
    shelf = Shelf(SectionKind.FACTS, prepared.costs, ceiling=ceiling, max_items=prepared.max_facts)
    shelf.take(sum(prepared.costs), ceiling)
    shelf.short = Reason.OVER_CEILING
    selection = _select(prepared, shelf)
    return replace(prepared, whole=selection)


def _select(prepared: PreparedFacts, shelf: Shelf) -> FactSelection:
    chosen = sorted(prepared.preference[item] for item in shelf.taken)
    lines = [prepared.lines[line] for line in chosen]
    part = None
    if lines:
        tokens = prepared.section.heading_tokens + shelf.used
        part = make_part(SectionKind.FACTS, (*prepared.section.headings, *lines), tokens)
    rows = [prepared.line_rows[line] for line in chosen]
    outcomes, reasons, fields = _fates(prepared, shelf, rows)
    offsets, lengths = _places(len(prepared.rows), rows, part)
    facts = (prepared.rows[row] for row in rows)
    values = frozenset(value_text(f) for f in facts if f.type in (ValueType.TEXT, ValueType.STATEMENT))
    sha256 = text_digest(part.text) if part else ""
    return FactSelection(
        shelf.taken,
        shelf.used,
        shelf.stopped,
        part,
        sha256,
        values,
        outcomes,
        reasons,
        fields,
        offsets,
        lengths,
    )


def _fates(prepared: PreparedFacts, shelf: Shelf, included: list[int]) -> tuple[Bytes1, Bytes1, Bytes1]:
    reasons = np.array([CODE[reason] for reason, _ in prepared.verdicts], np.uint8)
    fields = np.array([field for _, field in prepared.verdicts], np.uint8)
    candidates = list(prepared.line_rows)
    reasons[candidates], fields[candidates] = CODE[shelf.short], field_of(shelf.short)
    if shelf.stopped is not None:
        beyond = [prepared.line_rows[line] for line in prepared.preference[shelf.stopped :]]
        reasons[beyond], fields[beyond] = CODE[Reason.OVER_CEILING], MAX_FACTS_FIELD
    reasons[included], fields[included] = CODE[Reason.WITHIN_BUDGET], 0
    outcomes = np.full(len(prepared.rows), EXCLUDED, np.uint8)
    outcomes[included] = INCLUDED
    return outcomes, reasons, fields


def _places(count: int, rows: list[int], part: Part | None) -> tuple[Int32s, Int32s]:
    offsets, lengths = (np.full(count, NOT_PLACED, np.int32) for _ in range(2))
    if part and rows:
        spans = part.spans[-len(rows) :]
        offsets[rows] = [span.offset for span in spans]
        lengths[rows] = [span.length for span in spans]
    return offsets, lengths


_EMPTY = np.zeros(0, np.uint8)
_NOTHING = FactSelection((), 0, None, None, "", frozenset(), _EMPTY, _EMPTY, _EMPTY, int32s(()), int32s(()))
