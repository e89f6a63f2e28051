"""The history section: dated excerpts of past sessions, best first into the budget, onto the page in order of time."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import NamedTuple

import numpy as np

from assemblers.assembly import CandidateBlock, HistorySummary, Int32s, Int64s, Part, SourceKind, Span
from assemblers.budget import Shelf
from assemblers.decisions import CODE, EXCLUDED, INCLUDED, NO_FIELD, NOT_PLACED, field_of
from assemblers.plan import (
    ASSISTANT_FIELD,
    CURRENT_SESSION_FIELD,
    MAX_EXCERPTS_FIELD,
    SIMILARITY_FIELD,
    THRESHOLD_FIELD,
    SectionPlan,
)
from assemblers.policy.model import HistorySection, Policy
from assemblers.ranking import Ranking
from assemblers.records import Reason, SectionKind
from assemblers.sections.archive import Places, PreparedArchive, SessionDates
from assemblers.sections.pieces import make_part

_FITS, _OVER_CEILING = CODE[Reason.WITHIN_BUDGET], CODE[Reason.OVER_CEILING]
_EXCERPT = SourceKind.EXCERPT
_EXCLUDED, _NOWHERE = bytearray((EXCLUDED,)), array("i", (NOT_PLACED,))
"""One row of a column, to be repeated."""

_MICROS_PER_PERMILLE = 1000

Verdict = tuple[Reason, int]


@dataclass(frozen=True, slots=True)
class HistoryInput:
    """A ranked archive: `ranking.units` are indexes into `archive`, best first under a total order.

    `current_session_id` is the session of the turn, whose own archived excerpts a policy may leave out. The epoch,
    `archive_end_no` (one past the highest excerpt number) and `query_vector` (packed, empty without one) are for the
    trace.
    """

    archive: PreparedArchive
    ranking: Ranking
    query_terms: tuple[str, ...]
    archive_epoch: int
    archive_end_no: int
    current_session_id: str = ""
    query_vector: bytes = b""

    def summary(self) -> HistorySummary:
        """What the trace holds beyond the candidates."""
        ranking, fusion = self.ranking, self.ranking.fusion
        plain = (
            ranking.matched,
            ranking.cutoff or 0,
            self.archive_epoch,
            self.query_terms,
            self.archive_end_no,
        )
        if fusion is None:
            return HistorySummary(*plain)
        return HistorySummary(*plain, fusion.space, fusion.floor_permille, fusion.embedded, self.query_vector)


class HistoryCandidates(NamedTuple):
    """The ranked excerpts before the budget, `ranked` with their `tokens`. `rows` are the places in the ranking that
    `shelf` has, None for all, and `units` what is there."""

    history: HistoryInput
    section: SectionPlan
    shelf: Shelf
    ranked: Places
    tokens: Int32s
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
    archive, ranked = history.archive, history.ranking.units.astype(np.intp)
    tokens = archive.render(ranked)
    unfit = _unfit(history, ranked, policy, settings, known_values)
    if unfit:
        rows = [row for row in range(len(ranked)) if row not in unfit]
        fit, costs = ranked[rows], tokens[rows].tolist()
    else:
        rows, fit, costs = None, ranked, tokens.tolist()
    groups = archive.sessions[fit].tolist()
    dates = archive.dates(groups, now, zone)
    shelf = Shelf(
        section.kind, costs, section.floor, section.ceiling, section.priority, section.heading_tokens, groups,
        dates.costs, settings.max_excerpts, least=archive.least,
    )  # fmt: skip
    return HistoryCandidates(history, section, shelf, ranked, tokens, fit.tolist(), rows, unfit, dates)


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
    count = len(candidates.ranked)
    # Columns of bytes and machine integers: a dozen of single entries is set faster than numpy indexes once.
    outcomes, offsets, lengths = _EXCLUDED * count, _NOWHERE * count, _NOWHERE * count
    reasons, fields = bytearray((CODE[shelf.short],)) * count, bytearray((field_of(shelf.short),)) * count
    if shelf.stopped is not None and shelf.stopped < len(shelf.costs):
        first = shelf.stopped if candidates.rows is None else candidates.rows[shelf.stopped]
        reasons[first:] = bytes((_OVER_CEILING,)) * (count - first)
        fields[first:] = bytes((MAX_EXCERPTS_FIELD,)) * (count - first)
    for row, (reason, field) in candidates.unfit.items():
        reasons[row], fields[row] = CODE[reason], field
    if made is not None:
        for row, span in zip(made.rows, made.spans, strict=True):
            outcomes[row], reasons[row], fields[row] = INCLUDED, _FITS, NO_FIELD
            offsets[row], lengths[row] = span[0], span[1]
    narrow = np.frombuffer(outcomes + reasons + fields, np.uint8).reshape(3, count)
    wide = np.frombuffer(offsets + lengths, np.int32).reshape(2, count)
    return CandidateBlock(
        candidates.section.kind, _EXCERPT, "excerpt/", archive.numbers[candidates.ranked], narrow[0], narrow[1],
        narrow[2], candidates.section.fields, candidates.tokens, wide[0], wide[1], message, index, _scores(ranking),
    )  # fmt: skip


def _scores(ranking: Ranking) -> dict[str, Int64s]:
    legs = ranking.legs
    scores = {
        "total": ranking.scores, "keyword": legs.keyword, "neighbour": legs.neighbour, "session": legs.session
    }  # fmt: skip
    return scores if ranking.fusion is None else scores | {"cosine": ranking.fusion.cosines}


def below_threshold(ranking: Ranking, settings: HistorySection) -> list[int]:
    """The rows of a ranking that are not good enough to be shown, whatever the room.

    By keywords alone it is the score that counts. Where vectors had a say, each of the two has its own threshold in its
    own measure, since a fused score means nothing beyond its archive; one of them is enough.
    """
    least, scores, fusion = settings.min_score_micros, ranking.scores, ranking.fusion
    if fusion is None:
        low = scores < least if len(scores) and scores[-1] < least else None
    else:
        low = (ranking.legs.total() < least) & (fusion.cosines < fusion.floor_permille * _MICROS_PER_PERMILLE)
    return [] if low is None else np.flatnonzero(low).tolist()


def _unfit(
    history: HistoryInput,
    ranked: Places,
    policy: Policy,
    settings: HistorySection,
    known_values: frozenset[str],
) -> dict[int, Verdict]:
    """The rows that no budget would let in. Mostly there are none, so each rule first asks whether it applies."""
    archive, ranking = history.archive, history.ranking
    unfit: dict[int, Verdict] = {}
    if low := below_threshold(ranking, settings):
        field = THRESHOLD_FIELD if ranking.fusion is None else SIMILARITY_FIELD
        unfit |= dict.fromkeys(low, (Reason.BELOW_THRESHOLD, field))
    if settings.skip_current_session and history.current_session_id in archive.session_ids:
        sessions = [i for i, name in enumerate(archive.session_ids) if name == history.current_session_id]
        own = np.flatnonzero(np.isin(archive.sessions[ranked], sessions)).tolist()
        unfit |= dict.fromkeys(own, (Reason.DUPLICATE, CURRENT_SESSION_FIELD))
    if not policy.archive.include_assistant:
        said = np.flatnonzero(archive.assistant[ranked]).tolist() if archive.has_assistant else []
        unfit |= dict.fromkeys(said, (Reason.KEY_NOT_ALLOWED, ASSISTANT_FIELD))
    repeated = _repeated(archive, ranked, unfit, known_values)
    return unfit | dict.fromkeys(repeated, (Reason.DUPLICATE, 0)) if repeated else unfit


def _repeated(
    archive: PreparedArchive, ranked: Places, unfit: Mapping[int, Verdict], known_values: frozenset[str]
) -> list[int]:
    """The rows that say what a fact in the prompt or a better row says."""
    seen = archive.reading_like(known_values)
    if not seen and not archive.twins:
        return []
    repeated = []
    for row, unit in enumerate(ranked.tolist()):
        if row in unfit:
            continue
        if unit in seen:
            repeated.append(row)
        elif unit in archive.twins:
            seen.update(archive.twins[unit])
    return repeated
