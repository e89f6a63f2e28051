"""The facts section: what is on record about the user, sorted by key and chosen without looking at the question.

A user's facts look the same all day, so they are rendered and counted once (`prepare_facts`) and the result serves
every call until a fact changes, one expires, or the date does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

import numpy as np

from assemblers.assembly import Bytes1, CandidateBlock, Int32s, Part, Source, SourceKind
from assemblers.budget import Shelf
from assemblers.decisions import (
    CODE, EXCLUDED, INCLUDED, NO_SCORES, NOT_PLACED, budget_fields, field_of, int32s, section_field,
)  # fmt: skip
from assemblers.digests import text_digest
from assemblers.policy.model import FactsSection, Policy, PolicyRevision, Section
from assemblers.records import Fact, FactState, Reason, SectionKind, ValueType
from assemblers.sections.fact_lines import fact_line, value_text
from assemblers.sections.fact_rules import MAX_FACTS_FIELD, POLICY_FIELDS, Verdict, judge
from assemblers.sections.pieces import Piece, heading, make_part, piece, total_tokens
from assemblers.text import until_next_midnight
from assemblers.tokens import ModelTokens, TokenCounter


@dataclass(frozen=True, slots=True)
class FactSelection:
    """Some facts, rendered: the part with its digest, the quoted values in it, and the decisions in columns."""

    taken: Sequence[int]
    cost: int
    part: Part | None
    sha256: str
    values: frozenset[str]
    outcomes: Bytes1
    reasons: Bytes1
    fields: Bytes1
    offsets: Int32s
    lengths: Int32s

    @property
    def dropped(self) -> int:
        """How many facts are not rendered."""
        return len(self.outcomes) - len(self.taken)


@dataclass(frozen=True, slots=True)
class PreparedFacts:
    """A user's facts under one policy, zone and vocabulary, good for every instant that `covers` accepts.

    `rows` has all facts in the order of rendering (key, subject, number); `lines` has those that may be rendered,
    `line_rows` their places in `rows`, and `preference` the places in `lines`, best first, that `costs` follow.
    `whole` is what is rendered where the prompt has room: everything up to the ceiling `raw_ceiling` (raw tokens).
    """

    policy_digest: str
    counter_id: str
    zone: tzinfo
    valid_from: datetime
    valid_until: datetime
    rows: tuple[Fact, ...]
    numbers: Int32s
    verdicts: tuple[Verdict, ...]
    tokens: Int32s
    lines: tuple[Piece, ...]
    line_rows: tuple[int, ...]
    preference: tuple[int, ...]
    costs: tuple[int, ...]
    headings: tuple[Piece, ...]
    heading_tokens: int
    policy_fields: tuple[str, ...]
    raw_ceiling: int | None
    max_facts: int | None
    whole: FactSelection

    def covers(self, now: datetime) -> bool:
        """Whether ages and expiries are at `now` what they were when this was prepared."""
        return self.valid_from <= now < self.valid_until


def prepare_facts(
    policy: PolicyRevision, facts: Sequence[Fact], now: datetime, zone: tzinfo, tokens: ModelTokens
) -> PreparedFacts:
    """Judge, render and count a user's facts, given in any order; `now` is in UTC.

    Reuse the result for the same facts, policy revision, zone and model tokens while it `covers` the instant.
    Raises ValueError where the policy has no FACTS section, and what the counter raises.
    """
    section = policy.policy.section(SectionKind.FACTS)
    if section is None or not isinstance(section.settings, FactsSection):
        raise ValueError("policy: it has no FACTS section; prepare no facts for it")
    rows = tuple(sorted(facts, key=lambda fact: (fact.key, fact.subject.kind, fact.subject.id, fact.no)))
    verdicts = tuple(judge(rows, policy.policy, section.settings, now))
    line_rows = tuple(row for row, verdict in enumerate(verdicts) if verdict[0] is Reason.WITHIN_BUDGET)
    lines = _lines([rows[row] for row in line_rows], policy.policy, now, zone, tokens.counter)
    preference = tuple(sorted(range(len(lines)), key=lambda line: _rank(rows[line_rows[line]])))
    counts = np.zeros(len(rows), np.int32)
    counts[list(line_rows)] = [line.tokens for line in lines]
    headings = _headings(policy.policy, section.settings, tokens.counter)
    ceiling = section.budget.ceiling_tokens
    prepared = PreparedFacts(
        policy_digest=policy.digest, counter_id=tokens.counter.id, zone=zone,
        valid_from=now, valid_until=_valid_until(rows, now, zone),
        rows=rows, numbers=int32s([fact.no for fact in rows]), verdicts=verdicts, tokens=counts,
        lines=lines, line_rows=line_rows, preference=preference,
        costs=tuple(lines[line].tokens for line in preference),
        headings=headings, heading_tokens=total_tokens(headings),
        policy_fields=budget_fields(policy.policy, SectionKind.FACTS, *_fields(policy.policy)),
        raw_ceiling=None if ceiling is None else tokens.raw_limit(ceiling), max_facts=section.settings.max_facts,
        whole=_NOTHING,
    )  # fmt: skip
    return _with_whole(prepared)


def facts_shelf(prepared: PreparedFacts, section: Section, tokens: ModelTokens, own_message: int) -> Shelf:
    """The section's candidates for the budget; `own_message` is what a message of its own costs, 0 without one."""
    ceiling = section.budget.ceiling_tokens
    raw_ceiling = None if ceiling is None else tokens.raw_limit(ceiling)
    known = prepared.whole if raw_ceiling == prepared.raw_ceiling else None
    return Shelf(
        SectionKind.FACTS, prepared.costs, tokens.raw_limit(section.budget.floor_tokens), raw_ceiling,
        section.budget.priority, prepared.heading_tokens + own_message,
        max_items=prepared.max_facts, whole=(known.taken, known.cost) if known else None,
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
        selection.fields, prepared.policy_fields, prepared.tokens, selection.offsets, selection.lengths, message, 0,
        NO_SCORES,
    )  # fmt: skip


def _fields(policy: Policy) -> tuple[str, ...]:
    allowlist, ttl, *own = POLICY_FIELDS
    return (allowlist, ttl, *(section_field(policy, SectionKind.FACTS, name) for name in own))


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


def _headings(policy: Policy, settings: FactsSection, counter: TokenCounter) -> tuple[Piece, ...]:
    return tuple(
        line
        for text, name in ((settings.heading, "facts.heading"), (settings.precedence, "facts.precedence"))
        for line in heading(counter, text, name)
    )


def _valid_until(facts: Sequence[Fact], now: datetime, zone: tzinfo) -> datetime:
    """Until the date changes or a fact expires, rendered or not: its reason for being absent would be another."""
    expiries = [f.expire_time for f in facts if f.state is FactState.CURRENT and f.expire_time > now]
    try:
        midnight = now + until_next_midnight(now, zone)
    except OverflowError:
        midnight = datetime.max.replace(tzinfo=UTC)
    return min([midnight, *expiries])


def _with_whole(prepared: PreparedFacts) -> PreparedFacts:
    shelf = Shelf(
        SectionKind.FACTS, prepared.costs, ceiling=prepared.raw_ceiling, max_items=prepared.max_facts
    )
    shelf.take(sum(prepared.costs), prepared.raw_ceiling)
    shelf.short = Reason.OVER_CEILING
    selection = _select(prepared, shelf)
    return replace(prepared, whole=selection)


def _select(prepared: PreparedFacts, shelf: Shelf) -> FactSelection:
    chosen = sorted(prepared.preference[item] for item in shelf.taken)
    lines = [prepared.lines[line] for line in chosen]
    part = None
    if lines:
        tokens = prepared.heading_tokens + shelf.used
        part = make_part(SectionKind.FACTS, (*prepared.headings, *lines), tokens)
    rows = [prepared.line_rows[line] for line in chosen]
    outcomes, reasons, fields = _fates(prepared, shelf, rows)
    offsets, lengths = _places(len(prepared.rows), rows, part)
    facts = (prepared.rows[row] for row in rows)
    values = frozenset(value_text(f) for f in facts if f.type in (ValueType.TEXT, ValueType.STATEMENT))
    sha256 = text_digest(part.text) if part else ""
    return FactSelection(
        shelf.taken, shelf.used, part, sha256, values, outcomes, reasons, fields, offsets, lengths
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
_NOTHING = FactSelection((), 0, None, "", frozenset(), _EMPTY, _EMPTY, _EMPTY, int32s(()), int32s(()))
