"""Ranks an archive for a question by keywords and by vectors.

score = keyword weight * standard score of the keyword score + vector weight * standard score of the vector score

The keyword score is that of ``bm25``. The vector score is the standard score of a unit's cosine, lifted by the same
weights: what the units around it have, and the best of its session. All of it is arithmetic on whole numbers or single
steps that every machine rounds alike, so that the same arrays give the same ranking everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assemblers.ranking.archive import GAPS, Archive
from assemblers.ranking.bm25 import (
    Fusion,
    Ranking,
    RankParams,
    Scored,
    UnitScore,
    best_of,
    check_unit,
    legs_of,
    place_of,
    score_units,
)
from assemblers.ranking.standard import standard_scores
from assemblers.ranking.vectors import Vectors

_PERMILLE: Final[int] = 1000
_MAX_PERMILLE: Final[int] = 1000
_NO_COSINE: Final[int] = -(2**31)
"""Below every cosine: the best of a session is never a unit without a vector."""


@dataclass(frozen=True, slots=True)
class Blend:
    """The weights of the two scores in thousandths (0 to 1,000 each), and the cosine from which a unit may be shown by
    its vector alone.

    Defaults were chosen on LoCoMo with all-MiniLM-L6-v2 in int8 (ten dated conversations, 1,536 answerable questions).
    Share of the evidence found within 512 / 1,024 / 2,048 tokens of excerpts: 79.4 / 85.2 / 90.5 %; at 0.3 and 0.7
    it is 78.1 / 84.7 / 90.2, at 0.5 each 79.1 / 85.6 / 90.2. Keywords alone: 76.4 / 82.5 / 87.9 %.
    """

    keyword_permille: int = 400
    vector_permille: int = 600
    floor_permille: int = 0

    def __post_init__(self) -> None:
        for name in ("keyword_permille", "vector_permille", "floor_permille"):
            value = getattr(self, name)
            if not 0 <= value <= _MAX_PERMILLE:
                raise ValueError(f"{name} must lie between 0 and {_MAX_PERMILLE}, not {value}")


class Question(NamedTuple):
    """What is searched by: the terms of ``analysis.query_terms``, and the vector in fixed point."""

    terms: Sequence[str]
    vector: NDArray[np.float32]


def rank_hybrid(
    archive: Archive, vectors: Vectors, question: Question, params: RankParams, blend: Blend
) -> Ranking:
    """The best ``params.limit`` units that score by any term or whose cosine is above zero.

    ``vectors`` are aligned with the archive. A unit without one stands where its keywords and what is around it put it.
    """
    fused = _fuse(archive, vectors, question, params, blend)
    units, scores, matched, cutoff = best_of(fused.places, archive.indexes, params.limit)
    low = fused.low
    keyword_scores = fused.scored.totals[units]
    return Ranking(
        units.astype(np.int32),
        scores + low,
        legs_of(archive, fused.scored, units, keyword_scores),
        matched,
        None if cutoff is None else cutoff + low,
        Fusion(vectors.space.id, blend.floor_permille, vectors.count, fused.cosines[units]),
    )


def hybrid_score_of(
    archive: Archive, vectors: Vectors, question: Question, params: RankParams, blend: Blend, unit: int
) -> UnitScore:
    """Score and rank of the unit at index ``unit``, by the same arithmetic as ``rank_hybrid``.

    Raises ``IndexError`` if the archive has no such unit.
    """
    check_unit(archive, unit)
    fused = _fuse(archive, vectors, question, params, blend)
    legs = legs_of(archive, fused.scored, np.array([unit]), fused.scored.totals[unit : unit + 1])
    return UnitScore(
        int(fused.totals[unit]),
        place_of(fused.places, unit),
        int(legs.keyword[0]),
        int(legs.neighbour[0]),
        int(legs.session[0]),
        int(fused.cosines[unit]),
    )


class _Fused(NamedTuple):
    """Scores on the way to a ranking, in millionths, per unit."""

    scored: Scored
    cosines: NDArray[np.int64]
    totals: NDArray[np.int64]
    places: NDArray[np.int64]
    """The totals as ``best_of`` wants them: 1 and more in the same order, 0 for what does not match at all."""
    low: int
    """What was taken off the totals for that."""


def _fuse(archive: Archive, vectors: Vectors, question: Question, params: RankParams, blend: Blend) -> _Fused:
    scored = score_units(archive, question.terms, params)
    cosines = vectors.cosines(question.vector)
    lifted = _lifted(archive, cosines, vectors.present, params)
    totals = blend.keyword_permille * standard_scores(scored.totals)
    totals += blend.vector_permille * standard_scores(lifted)
    totals //= _PERMILLE
    low = int(totals.min()) - 1 if len(totals) else 0
    places = np.where((scored.totals > 0) | (cosines > 0), totals - low, 0)
    return _Fused(scored, cosines, totals, places, low)


def _lifted(
    archive: Archive, cosines: NDArray[np.int64], present: NDArray[np.bool_], params: RankParams
) -> NDArray[np.int64]:
    """What the vectors say for each unit: its own, its neighbours' and its session's best, as standard scores."""
    own = np.zeros(len(archive), np.int64)
    own[present] = standard_scores(cosines[present])
    row = np.zeros(archive.row_size)
    row[archive.slots + GAPS] = own
    lifted = np.correlate(row, params.kernel).astype(np.int64)[archive.slots]
    return (lifted + params.session_permille * _best_of_session(archive, own, present)) // _PERMILLE


def _best_of_session(
    archive: Archive, own: NDArray[np.int64], present: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Per unit: the best of its session among those with a vector, 0 where there is none."""
    if not len(own):
        return own
    firsts = np.flatnonzero(np.diff(archive.sessions, prepend=-1))
    best = np.maximum.reduceat(np.where(present, own, _NO_COSINE), firsts)
    best[best == _NO_COSINE] = 0
    return best[archive.sessions]
