"""Ranks an archive for a question by keywords: BM25, the turns around each unit, and its session.

score = own + near * (previous + next) + far * (the two beyond) + session * BM25 of the session as a document

Everything after the worth of one term in one document is integer arithmetic, so a score is exactly the sum
of its legs and the order is total: score, then the newer unit, then the lower number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assemblers.ranking.archive import GAPS, PLAIN, Archive
from assemblers.ranking.postings import Saturation

_PERMILLE: Final[int] = 1000
_MAX_PERMILLE: Final[int] = 10_000
_WORTH_PARTING: Final[int] = 8
"""From so many times the limit on, parting off the best before they are sorted is the faster way."""


@dataclass(frozen=True, slots=True)
class RankParams:
    """Weights of the legs in thousandths (0 to 10,000 each) and how many candidates are kept.

    Defaults were chosen on LoCoMo (ten dated conversations, 1,536 answerable questions, no model). Share of
    the evidence found within 512 / 1,024 / 2,048 tokens of excerpts: 76.4 / 82.5 / 87.9 %. With one neighbour
    at 0.35 and 0.8 of the session's best unit instead: 74.5 / 81.3 / 86.2 %; with units alone: 65.1 / 71.2 /
    77.3 %. Halving or doubling any one weight costs at most 1.1 points. They suit short turns of talk: on
    BEAM-100K (long messages, three sessions a user, 355 questions) units alone do no worse, 59 % @10 to 57.
    """

    saturation: Saturation = PLAIN
    near_permille: int = 400
    """Share of the score of the previous and of the next unit in the session."""
    far_permille: int = 200
    """Share of the score of the units one further on either side."""
    session_permille: int = 1200
    """Share of the score of the whole session, read as one document among the user's sessions."""
    limit: int = 200
    """Candidates kept in order; what is left out remains explainable by ``score_of``."""
    kernel: NDArray[np.float64] = field(init=False, compare=False, repr=False)
    """What a unit and those around it add to its score, in thousandths."""

    def __post_init__(self) -> None:
        for name in ("near_permille", "far_permille", "session_permille"):
            value = getattr(self, name)
            if not 0 <= value <= _MAX_PERMILLE:
                raise ValueError(f"{name} must lie between 0 and {_MAX_PERMILLE}, not {value}")
        if self.limit < 1:
            raise ValueError(f"limit must be at least 1, not {self.limit}")
        near, far = self.near_permille, self.far_permille
        object.__setattr__(self, "kernel", np.array([far, near, _PERMILLE, near, far], np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class Legs:
    """Parts of scores in millionths; they add up to the score exactly. Same length, one entry per unit."""

    keyword: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    session: NDArray[np.int64]

    def total(self) -> NDArray[np.int64]:
        return self.keyword + self.neighbour + self.session


@dataclass(frozen=True, slots=True, eq=False)
class Fusion:
    """What the vectors had to do with a ranking."""

    space: str
    """The id of the ``VectorSpace``."""
    floor_permille: int
    """The cosine from which a unit may be shown by its vector alone."""
    embedded: int
    """How many units of the archive had a vector."""
    cosines: NDArray[np.int64]
    """Of the ranked units with the question, in millionths; 0 for one without a vector."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The best units for a question, best first; all scores in millionths, and above zero by keywords alone."""

    units: NDArray[np.int32]
    """Indexes into the archive."""
    scores: NDArray[np.int64]
    legs: Legs
    matched: int
    """How many units scored above zero, kept or not."""
    cutoff: int | None
    """Score of the first unit left out; None if every matching unit was kept."""
    fusion: Fusion | None = None
    """Where vectors had a say (``hybrid.rank_hybrid``): then scores are standard scores and may be negative."""


@dataclass(frozen=True, slots=True)
class UnitScore:
    """Where one unit stands for a question, kept or not. Scores in millionths."""

    score: int
    rank: int
    """1 for the best. Units with score 0 are ranked too, although a ``Ranking`` never holds them."""
    keyword: int
    neighbour: int
    session: int
    cosine: int | None = None
    """Where vectors had a say."""


def rank(archive: Archive, terms: Sequence[str], params: RankParams) -> Ranking:
    """The best ``params.limit`` units for the ``terms`` of a question (``analysis.query_terms``).

    A repeated term counts once. No terms, or none that the archive holds, give an empty ranking.
    """
    scored = score_units(archive, terms, params)
    units, scores, matched, cutoff = best_of(scored.totals, archive.indexes, params.limit)
    return Ranking(units.astype(np.int32), scores, legs_of(archive, scored, units, scores), matched, cutoff)


def score_of(archive: Archive, terms: Sequence[str], params: RankParams, unit: int) -> UnitScore:
    """Score and rank of the unit at index ``unit``, by the same arithmetic as ``rank``.

    Raises ``IndexError`` if the archive has no such unit.
    """
    check_unit(archive, unit)
    scored = score_units(archive, terms, params)
    totals = scored.totals
    legs = legs_of(archive, scored, np.array([unit]), totals[unit : unit + 1])
    return UnitScore(
        int(totals[unit]),
        place_of(totals, unit),
        int(legs.keyword[0]),
        int(legs.neighbour[0]),
        int(legs.session[0]),
    )


def check_unit(archive: Archive, unit: int) -> None:
    """Raise ``IndexError`` if the archive has no such unit."""
    if not 0 <= unit < len(archive):
        raise IndexError(f"unit {unit} is not in an archive of {len(archive)}; take it from Archive.index_of")


def place_of(totals: NDArray[np.int64], unit: int) -> int:
    """The rank of the unit at index ``unit`` under the total order, 1 for the best."""
    score = totals[unit]
    return int(np.count_nonzero(totals > score) + np.count_nonzero(totals[unit + 1 :] == score)) + 1


class Scored(NamedTuple):
    """Scores on the way to a ranking, in millionths."""

    sums: NDArray[np.float64]
    """Of the keywords alone, by place: units in their row with gaps, then sessions."""
    shares: NDArray[np.int64]
    """What each session adds to its units."""
    totals: NDArray[np.int64]
    """Per unit."""


def score_units(archive: Archive, terms: Sequence[str], params: RankParams) -> Scored:
    """The keyword scores of all units, in the order of the archive."""
    rows = [archive.rows[term] for term in dict.fromkeys(terms) if term in archive.rows]
    sums = archive.postings.scores(rows, params.saturation, archive.size)
    # A unit and its neighbours in one pass: gaps part the sessions, so no sum reaches across, and thousandths
    # stay below 2**50, where float64 is exact. The unit's own part is whole, so it may share the division.
    lifted = np.correlate(sums[: archive.row_size], params.kernel).astype(np.int64)
    lifted //= _PERMILLE
    totals = lifted[archive.slots]
    shares = (sums[archive.row_size :] * params.session_permille).astype(np.int64)
    shares //= _PERMILLE
    totals += shares[archive.sessions]
    return Scored(sums, shares, totals)


def legs_of(archive: Archive, scored: Scored, units: NDArray[np.int64], scores: NDArray[np.int64]) -> Legs:
    """The parts of the ``scores`` of ``units``; what is neither its own nor its session's is its neighbours'."""
    keyword = scored.sums[archive.slots[units] + GAPS].astype(np.int64)
    session = scored.shares[archive.sessions[units]]
    return Legs(keyword, scores - keyword - session, session)


def best_of(
    totals: NDArray[np.int64], indexes: NDArray[np.int64], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int | None]:
    """The ``limit`` highest in order with their scores, how many match, and the score of the first match left out.

    Score and index are packed into one integer, so that plain sorting gives the total order. Scores stay
    below 2**40 (64 terms and the bounds of ``RankParams``), which leaves room for eight million units.
    """
    size = len(totals)
    bits = size.bit_length()
    matched = int(np.count_nonzero(totals))
    kept = min(matched, limit)
    keys = totals << bits
    keys |= indexes
    if size > _WORTH_PARTING * limit:
        keys = np.partition(keys, size - limit - 1)[size - limit - 1 :]
    keys.sort()
    keys = keys[::-1]
    best = keys[:kept]
    cutoff = int(keys[kept]) >> bits if matched > kept else None
    return best & ((1 << bits) - 1), best >> bits, matched, cutoff
