"""Inverted lists as arrays: which documents hold a term, and what the term is worth in each (BM25).

A document is a unit of the archive or a whole session; both are ranked by the same arithmetic. Worths are
whole millionths held in ``float64``: sums of integers below 2**53 are exact in any order, so two machines
that agree on one worth agree on every score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

SCORE_SCALE: Final[int] = 1_000_000
"""Scores are integers in units of 1e-6."""

# Roundings of ln() differ between math libraries in the last bit; nine decimals keep the idf clear of that.
_IDF_DECIMALS: Final[int] = 9


@dataclass(frozen=True, slots=True)
class Saturation:
    """The two constants of BM25. 0.9 and 0.4 measured best on dated conversations; the optimum is flat.

    ``k1`` (0 to 10): how much a repeated term still adds. ``b`` (0 to 1): how much length counts against.
    """

    k1: float = 0.9
    b: float = 0.4

    def __post_init__(self) -> None:
        if not 0 <= self.k1 <= 10:
            raise ValueError(f"k1 must lie between 0 and 10, not {self.k1}")
        if not 0 <= self.b <= 1:
            raise ValueError(f"b must lie between 0 and 1, not {self.b}")


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Compressed sparse rows: row ``r`` spans ``starts[r]:starts[r + 1]`` of the arrays per posting."""

    starts: list[int]
    """Plain integers, since a question looks up a handful of them and numpy scalars are slow to slice by."""
    documents: NDArray[np.int32]
    """Per posting; ascending within a row."""
    frequencies: NDArray[np.float64]
    idf: NDArray[np.float64]
    """Per row: ln(1 + (n - df + 0.5) / (df + 0.5)), never negative."""
    relative_lengths: NDArray[np.float64]
    """Per document: its length in terms divided by the mean."""
    saturation: Saturation
    worths: NDArray[np.float64]
    """Per posting, in whole millionths, for ``saturation``; other constants are worked out when asked for."""

    @property
    def nbytes(self) -> int:
        arrays = (self.documents, self.frequencies, self.idf, self.relative_lengths, self.worths)
        return sum(array.nbytes for array in arrays) + 40 * len(self.starts)

    def scores(self, rows: Sequence[int], saturation: Saturation) -> NDArray[np.int64]:
        """Sum of the rows' worths per document, in millionths; zeros where no row reaches."""
        size = len(self.relative_lengths)
        if not rows:
            return np.zeros(size, np.int64)
        starts = self.starts
        spans = [slice(starts[row], starts[row + 1]) for row in rows]
        documents = np.concatenate([self.documents[span] for span in spans])
        worths = np.concatenate([self._row_worths(row, span, saturation) for row, span in zip(rows, spans)])
        return np.bincount(documents, worths, size).astype(np.int64)

    def _row_worths(self, row: int, span: slice, saturation: Saturation) -> NDArray[np.float64]:
        if saturation is self.saturation or saturation == self.saturation:
            return self.worths[span]
        lengths = self.relative_lengths[self.documents[span]]
        return _worths(self.idf[row], self.frequencies[span], lengths, saturation)


def build_postings(
    rows: NDArray[np.int32],
    documents: NDArray[np.int32],
    frequencies: NDArray[np.float64],
    shape: tuple[int, int],
    saturation: Saturation,
) -> Postings:
    """Postings of ``shape`` (rows, documents) from triples sorted by row, then document, without repeats."""
    row_count, size = shape
    counts = np.bincount(rows, minlength=row_count)
    idf = np.round(np.log1p((size - counts + 0.5) / (counts + 0.5)), _IDF_DECIMALS)
    lengths = np.bincount(documents, frequencies, size).astype(np.float64)
    relative = lengths / lengths.mean() if lengths.any() else np.ones(size)
    worths = _worths(idf[rows], frequencies, relative[documents], saturation)
    for array in (documents, frequencies, idf, relative, worths):
        array.setflags(write=False)
    starts = [0, *np.cumsum(counts).tolist()]
    return Postings(starts, documents, frequencies, idf, relative, saturation, worths)


def _worths(
    idf: NDArray[np.float64] | np.float64,
    frequencies: NDArray[np.float64],
    relative_lengths: NDArray[np.float64],
    saturation: Saturation,
) -> NDArray[np.float64]:
    k1, b = saturation.k1, saturation.b
    saturated = frequencies * (k1 + 1) / (frequencies + k1 * (1 - b + b * relative_lengths))
    return np.rint(idf * saturated * SCORE_SCALE)
