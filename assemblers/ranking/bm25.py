"""Ranks an archive for a question by keywords: BM25, the turns around each unit, and its session.

score = own + near * (previous + next) + far * (the two beyond) + session * BM25 of the session as a document

Everything after the worth of one term in one document is integer arithmetic, so a score is exactly the sum
of its legs and the order is total: score, then the newer unit, then the lower number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assemblers.ranking.archive import Archive
from assemblers.ranking.postings import Saturation

_PERMILLE: Final[int] = 1000
_MAX_PERMILLE: Final[int] = 10_000


@dataclass(frozen=True, slots=True)
class RankParams:
    """Weights of the legs in thousandths (0 to 10,000 each) and how many candidates are kept.

    Defaults were chosen on LoCoMo (ten dated conversations, 1,536 answerable questions, no model). Share of
    the evidence found within 512 / 1,024 / 2,048 tokens of excerpts: 76.4 / 82.5 / 87.9 %. With one neighbour
    at 0.35 and 0.8 of the session's best unit instead: 74.5 / 81.3 / 86.2 %; with units alone: 65.1 / 71.2 /
    77.3 %. Halving or doubling any one weight costs at most 1.1 points. They suit short turns of talk: on
    BEAM-100K (long messages, three sessions a user, 355 questions) units alone do no worse, 59 % @10 to 57.
    """

    saturation: Saturation = field(default_factory=Saturation)
    near_permille: int = 400
    """Share of the score of the previous and of the next unit in the session."""
    far_permille: int = 200
    """Share of the score of the units one further on either side."""
    session_permille: int = 1200
    """Share of the score of the whole session, read as one document among the user's sessions."""
    limit: int = 200
    """Candidates kept in order; what is left out remains explainable by ``score_of``."""

    def __post_init__(self) -> None:
        for name in ("near_permille", "far_permille", "session_permille"):
            value = getattr(self, name)
            if not 0 <= value <= _MAX_PERMILLE:
                raise ValueError(f"{name} must lie between 0 and {_MAX_PERMILLE}, not {value}")
        if self.limit < 1:
            raise ValueError(f"limit must be at least 1, not {self.limit}")


@dataclass(frozen=True, slots=True, eq=False)
class Legs:
    """Parts of scores in millionths; they add up to the score exactly. Same length, one entry per unit."""

    keyword: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    session: NDArray[np.int64]

    def total(self) -> NDArray[np.int64]:
        return self.keyword + self.neighbour + self.session

    def take(self, units: NDArray[np.int64]) -> "Legs":
        return Legs(self.keyword[units], self.neighbour[units], self.session[units])


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The best units for a question, best first; all scores in millionths and above zero."""

    units: NDArray[np.int32]
    """Indexes into the archive."""
    scores: NDArray[np.int64]
    legs: Legs
    matched: int
    """How many units scored above zero, kept or not."""
    cutoff: int | None
    """Score of the first unit left out; None if every matching unit was kept."""


@dataclass(frozen=True, slots=True)
class UnitScore:
    """Where one unit stands for a question, kept or not. Scores in millionths."""

    score: int
    rank: int
    """1 for the best. Units with score 0 are ranked too, although a ``Ranking`` never holds them."""
    keyword: int
    neighbour: int
    session: int


def rank(archive: Archive, terms: Sequence[str], params: RankParams) -> Ranking:
    """The best ``params.limit`` units for the ``terms`` of a question (``analysis.query_terms``).

    A repeated term counts once. No terms, or none that the archive holds, give an empty ranking.
    """
    legs = _score(archive, terms, params)
    total = legs.total()
    matched = int(np.count_nonzero(total))
    kept = min(matched, params.limit)
    units, scores, cutoff = _best(total, kept, matched)
    return Ranking(units.astype(np.int32), scores, legs.take(units), matched, cutoff)


def score_of(archive: Archive, terms: Sequence[str], params: RankParams, unit: int) -> UnitScore:
    """Score and rank of the unit at index ``unit``, by the same arithmetic as ``rank``.

    Raises ``IndexError`` if the archive has no such unit.
    """
    if not 0 <= unit < len(archive):
        raise IndexError(f"unit {unit} is not in an archive of {len(archive)}; take it from Archive.index_of")
    legs = _score(archive, terms, params)
    total = legs.total()
    score = int(total[unit])
    better = np.count_nonzero(total > score) + np.count_nonzero(total[unit + 1 :] == score)
    parts = int(legs.keyword[unit]), int(legs.neighbour[unit]), int(legs.session[unit])
    return UnitScore(score, int(better) + 1, *parts)


def _score(archive: Archive, terms: Sequence[str], params: RankParams) -> Legs:
    rows = [archive.rows[term] for term in dict.fromkeys(terms) if term in archive.rows]
    scores = archive.postings.scores(rows, params.saturation)
    own, talks = scores[: len(archive)], scores[len(archive) :]
    shares = talks * params.session_permille // _PERMILLE
    return Legs(own, _neighbours(own, archive, params), shares[archive.sessions])


def _neighbours(own: NDArray[np.int64], archive: Archive, params: RankParams) -> NDArray[np.int64]:
    """Weighted scores of the units beside each unit. Gaps part the sessions, so no sum reaches across."""
    slots = archive.slots
    row = np.zeros(slots[-1] + 5 if len(slots) else 4, np.int64)
    row[2:-2][slots] = own
    near = (row[1:-3] + row[3:-1]) * params.near_permille
    far = (row[:-4] + row[4:]) * params.far_permille
    sums: NDArray[np.int64] = (near + far)[slots]
    return sums // _PERMILLE


def _best(
    total: NDArray[np.int64], kept: int, matched: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int | None]:
    """The ``kept`` highest in order with their scores, and the score that follows if a match is left out.

    Score and index are packed into one integer, so that plain sorting gives the total order. Scores stay
    below 2**40 (64 terms and the bounds of ``RankParams``), which leaves room for eight million units.
    """
    size = len(total)
    bits = size.bit_length()
    keys = (total << bits) | np.arange(size)
    wanted = min(kept + 1, size)
    if wanted < size:
        keys = np.partition(keys, size - wanted)[size - wanted :]
    keys = np.sort(keys)[::-1]
    best = keys[:kept]
    cutoff = int(keys[kept] >> bits) if matched > kept else None
    return best & ((1 << bits) - 1), best >> bits, cutoff
