"""Inverted lists as arrays: which documents hold a term, and what the term is worth in each (BM25).

Several collections of documents may share the lists, one after the other in one space of document numbers;
each keeps its own idf and mean length, so that one pass over the lists scores them all. Where in the sums a
document stands is for the caller to say. Worths are whole millionths held in ``float64``: sums of integers
below 2**53 are exact in any order, so two machines that agree on the worths agree on every score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

SCORE_SCALE: Final[int] = 1_000_000
"""Scores are integers in units of 1e-6."""

_Scalar = TypeVar("_Scalar", bound=np.generic)

# Roundings of ln() differ between math libraries in the last bit; nine decimals keep the idf clear of that.
_IDF_DECIMALS: Final[int] = 9


@dataclass(frozen=True, slots=True)
class Saturation:
    """The two constants of BM25. On LoCoMo, 0.5 to 1.2 and 0.3 to 0.75 differ by at most 0.7 points.

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
class Counts:
    """How often terms occur in one collection: triples sorted by row, then document, without repeats."""

    rows: NDArray[np.int32]
    documents: NDArray[np.int32]
    frequencies: NDArray[np.int32]
    row_count: int
    document_count: int


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Compressed sparse rows: row ``r`` spans ``starts[r]:starts[r + 1]`` of the arrays per posting."""

    starts: list[int]
    """Plain integers, since a question looks up a handful of them and numpy scalars are slow to slice by."""
    documents: NDArray[np.int32]
    frequencies: NDArray[np.int32]
    idf: NDArray[np.float64]
    """Of the row in the document's collection: ln(1 + (n - df + 0.5) / (df + 0.5)), never negative."""
    relative_lengths: NDArray[np.float64]
    """Per document, not per posting: length in terms divided by the mean of the collection."""
    saturation: Saturation
    pairs: NDArray[np.int32]
    """Per posting: the place of its document in the sums of ``scores``, and its worth in whole millionths for
    ``saturation``. Beside each other, so that a question gathers both at once. For other constants worths are
    worked out when asked for."""

    @property
    def nbytes(self) -> int:
        arrays = (self.documents, self.frequencies, self.idf, self.relative_lengths, self.pairs)
        return sum(array.nbytes for array in arrays) + 40 * len(self.starts)

    def scores(self, rows: Sequence[int], saturation: Saturation, size: int) -> NDArray[np.float64]:
        """Sum of the rows' worths per place, in whole millionths; zeros where no row reaches.

        ``size`` is one more than the last place of a document.
        """
        if not rows:
            return np.zeros(size)
        starts, pairs = self.starts, self.pairs
        found = np.concatenate([pairs[starts[row] : starts[row + 1]] for row in rows])
        worths: NDArray[np.int32] | NDArray[np.float64] = found[:, 1]
        if saturation is not self.saturation and saturation != self.saturation:
            worths = self._worths([slice(starts[row], starts[row + 1]) for row in rows], saturation)
        # With weights it gives floats, which its stub does not say.
        return cast("NDArray[np.float64]", np.bincount(found[:, 0], worths, size))

    def _worths(self, spans: Sequence[slice], saturation: Saturation) -> NDArray[np.float64]:
        """What was not prepared."""
        lengths = self.relative_lengths[_gather(self.documents, spans)]
        return _worths(_gather(self.idf, spans), _gather(self.frequencies, spans), lengths, saturation)


def build_postings(
    collections: Sequence[Counts], places: NDArray[np.int64], saturation: Saturation
) -> Postings:
    """Postings over ``collections``, whose rows mean the same terms and whose documents follow each other.

    ``places`` says for each document where its score is to stand.
    """
    rows = np.concatenate([counts.rows for counts in collections])
    order = np.argsort(rows, kind="stable")
    frequencies = np.concatenate([counts.frequencies for counts in collections])[order]
    idf = np.concatenate([_idf(counts)[counts.rows] for counts in collections])[order]
    lengths = np.concatenate([_relative_lengths(counts) for counts in collections])
    documents = _shifted_documents(collections)[order]
    worths = _worths(idf, frequencies, lengths[documents], saturation)
    # A worth stays below 2**28: k1 is at most 10, and the idf of one document in four billion is 22.
    pairs = np.stack((places[documents], worths), axis=1).astype(np.int32)
    for array in (documents, frequencies, idf, lengths, pairs):
        array.setflags(write=False)
    ends = np.cumsum(np.bincount(rows, minlength=collections[0].row_count))
    return Postings([0, *ends.tolist()], documents, frequencies, idf, lengths, saturation, pairs)


def _gather(array: NDArray[_Scalar], spans: Sequence[slice]) -> NDArray[_Scalar]:
    return np.concatenate([array[span] for span in spans])


def _idf(counts: Counts) -> NDArray[np.float64]:
    """Per row."""
    holding = np.bincount(counts.rows, minlength=counts.row_count)
    odds: NDArray[np.float64] = (counts.document_count - holding + 0.5) / (holding + 0.5)
    idf: NDArray[np.float64] = np.log1p(odds)
    return idf.round(_IDF_DECIMALS)


def _relative_lengths(counts: Counts) -> NDArray[np.float64]:
    lengths = np.bincount(counts.documents, counts.frequencies, counts.document_count)
    return lengths / lengths.mean() if lengths.any() else np.ones(counts.document_count)


def _shifted_documents(collections: Sequence[Counts]) -> NDArray[np.int32]:
    offset, shifted = 0, []
    for counts in collections:
        shifted.append(counts.documents + np.int32(offset))
        offset += counts.document_count
    return np.concatenate(shifted)


def _worths(
    idf: NDArray[np.float64],
    frequencies: NDArray[np.int32],
    relative_lengths: NDArray[np.float64],
    saturation: Saturation,
) -> NDArray[np.float64]:
    k1, b = saturation.k1, saturation.b
    saturated = frequencies * (k1 + 1) / (frequencies + k1 * (1 - b + b * relative_lengths))
    return np.rint(idf * saturated * SCORE_SCALE)
