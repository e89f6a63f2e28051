"""The history section: dated excerpts of past sessions, best first into the budget, onto the page in order of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import NamedTuple

import numpy as np

from assemblers.assembly import CandidateBlock, HistorySummary, Int64s, Part, SourceKind, Span
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


class HistoryCandidates(NamedTuple):
    """The ranked excerpts before the budget. `rows` are the places in the ranking that `shelf` has, None for all."""

    history: HistoryInput
    section: SectionPlan
    shelf: Shelf
    units: list[int]
    rows: list[int] | None
    unfit: Mapping[int, Verdict]
    dates: SessionDates


def history_candidates(
    history: HistoryInput,
    policy: Policy,
    section: SectionPlan,
    now: datetime,
    zone: tzinfo,
    known_values: frozenset[str],
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
    return HistoryCandidates(history, section, shelf, fit.tolist(), rows, unfit, dates)


class HistoryPart(NamedTuple):
    """The finished part, the rows of the ranking that are in it, and their spans, in the order of time."""

    part: Part
    rows: list[int]
    spans: list[Span]


def history_part(candidates: HistoryCandidates) -> HistoryPart | None:
    """The excerpts that the budget took, by session in the order of time; None for none."""
    shelf, archive = candidates.shelf, candidates.history.archive
    if not shelf.taken:
        return None
    units, lines, dates = candidates.units, archive.pieces, candidates.dates.pieces
    order = archive.order
    places = units if order is None else [order[unit] for unit in units]
    groups = shelf.groups or units
    pieces = list(candidates.section.headings)
    at, items, last = [], sorted(shelf.taken, key=places.__getitem__), -1
    for item in items:
        session = groups[item]
        if session != last:
            last = session
            pieces.append(dates[session])
        at.append(len(pieces))
        pieces.append(lines[units[item]])
    part = make_part(SectionKind.HISTORY, pieces, shelf.charge)
    rows = items if candidates.rows is None else [candidates.rows[item] for item in items]
    return HistoryPart(part, rows, [part.spans[place] for place in at])


def history_block(
    candidates: HistoryCandidates, made: HistoryPart | None, message: int, index: int
) -> CandidateBlock:
    """The fate of every candidate; what was made of them is part `index` of its message."""
    ranking, archive, shelf = candidates.history.ranking, candidates.history.archive, candidates.shelf
    count = len(ranking.units)
    codes, places = np.empty((3, count), np.uint8), np.empty((2, count), np.int32)
    outcomes, reasons, fields, offsets, lengths = codes[0], codes[1], codes[2], places[0], places[1]
    places[:] = NOT_PLACED
    outcomes[:], reasons[:], fields[:] = EXCLUDED, CODE[shelf.short], field_of(shelf.short)
    if shelf.stopped is not None and shelf.stopped < len(shelf.costs):
        first = shelf.stopped if candidates.rows is None else candidates.rows[shelf.stopped]
        reasons[first:], fields[first:] = CODE[Reason.OVER_CEILING], MAX_EXCERPTS_FIELD
    for row, (reason, field) in candidates.unfit.items():
        reasons[row], fields[row] = CODE[reason], field
    if made is not None:
        included = np.array(made.rows)
        outcomes[included], reasons[included], fields[included] = INCLUDED, _FITS, NO_FIELD
        offsets[included], lengths[included] = [s[0] for s in made.spans], [s[1] for s in made.spans]
    return CandidateBlock(
        SectionKind.HISTORY, SourceKind.EXCERPT, "excerpt/", archive.numbers[ranking.units],
        outcomes, reasons, fields, candidates.section.fields, archive.tokens[ranking.units], offsets, lengths,
        message, index, _scores(ranking),
    )  # fmt: skip


def _scores(ranking: Ranking) -> dict[str, Int64s]:
    legs = ranking.legs
    return {
        "total": ranking.scores, "keyword": legs.keyword, "neighbour": legs.neighbour, "session": legs.session
    }  # fmt: skip


def _unfit(
    history: HistoryInput, policy: Policy, settings: HistorySection, known_values: frozenset[str]
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


def _repeated(history: HistoryInput, unfit: Mapping[int, Verdict], known_values: frozenset[str]) -> list[int]:
    """The rows that say what a fact in the prompt or a better row says."""
    archive = history.archive
    seen = archive.reading_like(known_values)
    if not seen and not archive.twins:
        return []
    repeated = []
    for row, unit in enumerate(history.ranking.units.tolist()):
        if row in unfit:
            continue
        if unit in seen:
            repeated.append(row)
        elif unit in archive.twins:
            seen.update(archive.twins[unit])
    return repeated
