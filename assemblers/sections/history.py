"""The history section: dated excerpts of past sessions, best first into the budget, in the order of time onto the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo

import numpy as np

from assemblers.assembly import CandidateBlock, HistorySummary, Int64s, Part, SourceKind, Span
from assemblers.budget import Shelf
from assemblers.decisions import (
    CODE, EXCLUDED, INCLUDED, NOT_PLACED, budget_fields, field_of, section_field,
)  # fmt: skip
from assemblers.policy.model import HistorySection, Policy, Section
from assemblers.ranking import Ranking
from assemblers.records import Reason, SectionKind, Text
from assemblers.sections.archive import PreparedArchive, SessionDates
from assemblers.sections.pieces import Piece, heading, total_tokens
from assemblers.tokens import ModelTokens

THRESHOLD_FIELD, CURRENT_SESSION_FIELD, ASSISTANT_FIELD, MAX_EXCERPTS_FIELD = 3, 4, 5, 6

Verdict = tuple[Reason, int]


@dataclass(frozen=True, slots=True)
class HistoryInput:
    """A ranked archive: `ranking.units` are indexes into `archive`, best first under a total order.

    `current_session_id` is the session of the turn, whose own archived excerpts a policy may leave out. The epoch and
    `archive_end_no` (one past the highest excerpt number) are for the trace.
    """

    archive: PreparedArchive
    ranking: Ranking
    query_terms: tuple[str, ...]
    archive_epoch: int
    archive_end_no: int
    current_session_id: str = ""

    def summary(self) -> HistorySummary:
        """What the trace holds beyond the candidates."""
        return HistorySummary(
            self.ranking.matched, self.ranking.cutoff or 0, self.archive_epoch, self.query_terms, self.archive_end_no
        )


@dataclass(frozen=True, slots=True)
class HistoryCandidates:
    """The ranked excerpts before the budget. `rows` are the places in the ranking that `shelf` has, None for all."""

    history: HistoryInput
    shelf: Shelf
    rows: list[int] | None
    unfit: Mapping[int, Verdict]
    dates: SessionDates
    headings: tuple[Piece, ...]
    policy_fields: tuple[str, ...]


def history_candidates(
    history: HistoryInput, policy: Policy, section: Section, tokens: ModelTokens, now: datetime, zone: tzinfo,
    known_values: Iterable[str],
) -> HistoryCandidates:  # fmt: skip
    """Judge and render the candidates. An excerpt that says no more than one of the `known_values` is a duplicate."""
    settings = section.settings
    assert isinstance(settings, HistorySection)
    archive, units = history.archive, history.ranking.units
    archive.render(units)
    unfit = _unfit(history, policy, settings, known_values)
    rows = [row for row in range(len(units)) if row not in unfit] if unfit else None
    fit = units if rows is None else units[rows]
    groups = archive.sessions[fit].tolist()
    dates = archive.dates(set(groups), now, zone, now.astimezone(zone).toordinal())
    headings = heading(tokens.counter, settings.heading, "history.heading")
    ceiling = section.budget.ceiling_tokens
    shelf = Shelf(
        SectionKind.HISTORY, archive.tokens[fit].tolist(), tokens.raw_limit(section.budget.floor_tokens),
        None if ceiling is None else tokens.raw_limit(ceiling), section.budget.priority, total_tokens(headings),
        groups, dates.costs, settings.max_excerpts,
    )  # fmt: skip
    return HistoryCandidates(history, shelf, rows, unfit, dates, headings, _policy_fields(policy))


def history_part(candidates: HistoryCandidates) -> tuple[Part | None, list[int]]:
    """The excerpts that the budget took, by session in the order of time, and their rows in that order."""
    shelf, archive = candidates.shelf, candidates.history.archive
    if not shelf.taken:
        return None, []
    rows = shelf.taken if candidates.rows is None else [candidates.rows[item] for item in shelf.taken]
    units = candidates.history.ranking.units[rows].tolist()
    order = archive.order
    ordered = sorted(zip(units if order is None else [order[unit] for unit in units], units, rows, strict=True))
    sessions = archive.sessions
    texts, spans, offset, last = [], [], 0, -1
    for line in candidates.headings:
        texts.append(line.text)
        spans.append(Span(offset, line.size, line.item_id, line.source))
        offset += line.size
    for _, unit, _ in ordered:
        session = sessions[unit]
        if session != last:
            last = session
            date = candidates.dates.pieces[session]
            assert date is not None
            texts.append(date.text)
            spans.append(Span(offset, date.size, date.item_id, date.source))
            offset += date.size
        text, size, _, item_id, source = archive.piece(unit)
        texts.append(text)
        spans.append(Span(offset, size, item_id, source))
        offset += size
    joined = "".join(texts)
    part = Part(SectionKind.HISTORY, Text(joined), joined, tuple(spans), shelf.charge)
    return part, [row for _, _, row in ordered]


def history_block(
    candidates: HistoryCandidates, rows: list[int], part: Part | None, message: int, index: int
) -> CandidateBlock:
    """The fate of every candidate. `rows` are those in `part`, in its order; the part is number `index` of its message."""
    ranking, archive, shelf = candidates.history.ranking, candidates.history.archive, candidates.shelf
    count = len(ranking.units)
    reasons = np.full(count, CODE[shelf.short], np.uint8)
    fields = np.full(count, field_of(shelf.short), np.uint8)
    if shelf.stopped is not None:
        first = shelf.stopped if candidates.rows is None else candidates.rows[shelf.stopped]
        reasons[first:], fields[first:] = CODE[Reason.OVER_CEILING], MAX_EXCERPTS_FIELD
    for row, (reason, field) in candidates.unfit.items():
        reasons[row], fields[row] = CODE[reason], field
    outcomes = np.full(count, EXCLUDED, np.uint8)
    offsets, lengths = np.full((2, count), NOT_PLACED, np.int32)
    if part is not None:
        placed = [span for span in part.spans if span.source.kind is SourceKind.EXCERPT]
        outcomes[rows], reasons[rows], fields[rows] = INCLUDED, CODE[Reason.WITHIN_BUDGET], 0
        offsets[rows] = [span.offset for span in placed]
        lengths[rows] = [span.length for span in placed]
    return CandidateBlock(
        SectionKind.HISTORY, SourceKind.EXCERPT, "excerpt/", archive.numbers[ranking.units], outcomes, reasons, fields,
        candidates.policy_fields, archive.tokens[ranking.units], offsets, lengths, message, index, _scores(ranking),
    )  # fmt: skip


def _scores(ranking: Ranking) -> dict[str, Int64s]:
    legs = ranking.legs
    return {
        "total": ranking.scores, "keyword": legs.keyword, "neighbour": legs.neighbour, "session": legs.session
    }  # fmt: skip


def _policy_fields(policy: Policy) -> tuple[str, ...]:
    kind = SectionKind.HISTORY
    return budget_fields(
        policy, kind, section_field(policy, kind, "history.min_score_micros"),
        section_field(policy, kind, "history.skip_current_session"), "archive.include_assistant",
        section_field(policy, kind, "history.max_excerpts"),
    )  # fmt: skip


def _unfit(
    history: HistoryInput, policy: Policy, settings: HistorySection, known_values: Iterable[str]
) -> dict[int, Verdict]:
    """The rows that no budget would let in. Nearly always there are none, so each rule first asks whether it applies."""
    archive, units, scores = history.archive, history.ranking.units, history.ranking.scores
    unfit: dict[int, Verdict] = {}
    if len(scores) and scores[-1] < settings.min_score_micros:
        low = np.flatnonzero(scores < settings.min_score_micros).tolist()
        unfit |= dict.fromkeys(low, (Reason.BELOW_THRESHOLD, THRESHOLD_FIELD))
    if settings.skip_current_session and history.current_session_id in archive.session_ids:
        sessions = [i for i, name in enumerate(archive.session_ids) if name == history.current_session_id]
        own = np.flatnonzero(np.isin(archive.sessions[units], sessions)).tolist()
        unfit |= dict.fromkeys(own, (Reason.DUPLICATE, CURRENT_SESSION_FIELD))
    if not policy.archive.include_assistant:
        said = np.flatnonzero(archive.assistant[units]).tolist()
        unfit |= dict.fromkeys(said, (Reason.KEY_NOT_ALLOWED, ASSISTANT_FIELD))
    repeated = _repeated(history, unfit, known_values)
    return unfit | dict.fromkeys(repeated, (Reason.DUPLICATE, 0)) if repeated else unfit


def _repeated(history: HistoryInput, unfit: Mapping[int, Verdict], known_values: Iterable[str]) -> list[int]:
    """The rows that say what a fact in the prompt or a better row says."""
    archive, units = history.archive, history.ranking.units
    seen = {unit for value in known_values for unit in archive.reading_like(value)}
    flagged = np.flatnonzero(archive.twins[units]).tolist()
    if not flagged and not seen:
        return []
    repeated = []
    for row in flagged if not seen else range(len(units)):
        unit = int(units[row])
        if row in unfit:
            continue
        if unit in seen:
            repeated.append(row)
        else:
            seen.update(archive.twins_of(unit))
    return repeated
