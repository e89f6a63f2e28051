"""The history section: dated excerpts of past sessions, best first into the budget, onto the page in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo

import numpy as np

from assemblers.assembly import CandidateBlock, HistorySummary, Int64s, Part, SourceKind
from assemblers.budget import Shelf
from assemblers.decisions import CODE, EXCLUDED, INCLUDED, NO_FIELD, NOT_PLACED, field_of
from assemblers.plan import (
    ASSISTANT_FIELD,
    CURRENT_SESSION_FIELD,
    MAX_EXCERPTS_FIELD,
    THRESHOLD_FIELD,
    SectionPlan,
)
from assemblers.policy.model import HistorySection, Policy
from assemblers.ranking import Ranking
from assemblers.records import Reason, SectionKind
from assemblers.sections.archive import PreparedArchive, SessionDates
from assemblers.sections.pieces import make_part

_FITS = CODE[Reason.WITHIN_BUDGET]

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
            self.ranking.matched,
            self.ranking.cutoff or 0,
            self.archive_epoch,
            self.query_terms,
            self.archive_end_no,
        )


@dataclass(frozen=True, slots=True)
class HistoryCandidates:
    """The ranked excerpts before the budget. `rows` are the places in the ranking that `shelf` has, None for all."""

    history: HistoryInput
    section: SectionPlan
    shelf: Shelf
    rows: list[int] | None
    unfit: Mapping[int, Verdict]
    dates: SessionDates


def history_candidates(
    history: HistoryInput,
    policy: Policy,
    section: SectionPlan,
    now: datetime,
    zone: tzinfo,
    known_values: Iterable[str],
) -> HistoryCandidates:
    """Judge and render the candidates. An excerpt that says just one of the `known_values` is a duplicate."""
    settings = section.section.settings
    assert isinstance(settings, HistorySection)
    archive, units = history.archive, history.ranking.units
    archive.render(units)
    unfit = _unfit(history, policy, settings, known_values)
    rows = [row for row in range(len(units)) if row not in unfit] if unfit else None
    fit = units if rows is None else units[rows]
    groups = archive.sessions[fit].tolist()
    dates = archive.dates(set(groups), now, zone)
    shelf = Shelf(
        SectionKind.HISTORY, archive.tokens[fit].tolist(), section.floor, section.ceiling, section.priority,
        section.heading_tokens, groups, dates.costs, settings.max_excerpts,
    )  # fmt: skip
    return HistoryCandidates(history, section, shelf, rows, unfit, dates)


def history_part(candidates: HistoryCandidates) -> tuple[Part | None, list[int]]:
    """The excerpts that the budget took, by session in the order of time, and their rows in that order."""
    shelf, archive = candidates.shelf, candidates.history.archive
    if not shelf.taken:
        return None, []
    rows = shelf.taken if candidates.rows is None else [candidates.rows[item] for item in shelf.taken]
    units = candidates.history.ranking.units[rows].tolist()
    order = archive.order
    places = units if order is None else [order[unit] for unit in units]
    sessions = [shelf.groups[item] for item in shelf.taken] if shelf.groups else []
    ordered = sorted(zip(places, units, sessions, rows, strict=True))
    pieces = list(candidates.section.headings)
    last = -1
    for _, unit, session, _ in ordered:
        if session != last:
            last = session
            pieces.append(candidates.dates.piece(session))
        pieces.append(archive.piece(unit))
    part = make_part(SectionKind.HISTORY, pieces, shelf.charge)
    return part, [row for _, _, _, row in ordered]


def history_block(
    candidates: HistoryCandidates, rows: list[int], part: Part | None, message: int, index: int
) -> CandidateBlock:
    """The fate of every candidate. `rows` are those in `part`, in its order; that is part `index` of its message."""
    ranking, archive, shelf = candidates.history.ranking, candidates.history.archive, candidates.shelf
    # One array for all columns: each that is made alone costs a microsecond.
    columns = np.empty((5, len(ranking.units)), np.int32)
    outcomes, reasons, fields, offsets, lengths = columns
    outcomes[:], reasons[:], fields[:] = EXCLUDED, CODE[shelf.short], field_of(shelf.short)
    columns[3:] = NOT_PLACED
    if shelf.stopped is not None and shelf.stopped < len(shelf.costs):
        first = shelf.stopped if candidates.rows is None else candidates.rows[shelf.stopped]
        reasons[first:], fields[first:] = CODE[Reason.OVER_CEILING], MAX_EXCERPTS_FIELD
    for row, (reason, field) in candidates.unfit.items():
        reasons[row], fields[row] = CODE[reason], field
    if part is not None:
        spans = [span for span in part.spans if span.source.kind is SourceKind.EXCERPT]
        columns[:, rows] = [
            [INCLUDED] * len(rows), [_FITS] * len(rows), [NO_FIELD] * len(rows),
            [span.offset for span in spans], [span.length for span in spans],
        ]  # fmt: skip
    codes = columns[:3].astype(np.uint8)
    return CandidateBlock(
        SectionKind.HISTORY, SourceKind.EXCERPT, "excerpt/", archive.numbers[ranking.units], codes[0], codes[1], codes[2],
        candidates.section.fields, archive.tokens[ranking.units], offsets, lengths, message, index, _scores(ranking),
    )  # fmt: skip


def _scores(ranking: Ranking) -> dict[str, Int64s]:
    legs = ranking.legs
    return {
        "total": ranking.scores, "keyword": legs.keyword, "neighbour": legs.neighbour, "session": legs.session
    }  # fmt: skip


def _unfit(
    history: HistoryInput, policy: Policy, settings: HistorySection, known_values: Iterable[str]
) -> dict[int, Verdict]:
    """The rows that no budget would let in. Mostly there are none, so each rule first asks whether it applies."""
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
        said = np.flatnonzero(archive.assistant[units]).tolist() if archive.has_assistant else []
        unfit |= dict.fromkeys(said, (Reason.KEY_NOT_ALLOWED, ASSISTANT_FIELD))
    repeated = _repeated(history, unfit, known_values)
    return unfit | dict.fromkeys(repeated, (Reason.DUPLICATE, 0)) if repeated else unfit


def _repeated(history: HistoryInput, unfit: Mapping[int, Verdict], known_values: Iterable[str]) -> list[int]:
    """The rows that say what a fact in the prompt or a better row says."""
    archive, units = history.archive, history.ranking.units
    seen = {unit for value in known_values for unit in archive.reading_like(value)}
    if not seen and not archive.twins[units].any():
        return []
    repeated = []
    for row, unit in enumerate(units.tolist()):
        if row in unfit:
            continue
        if unit in seen:
            repeated.append(row)
        elif archive.twins[unit]:
            seen.update(archive.twins_of(unit))
    return repeated
