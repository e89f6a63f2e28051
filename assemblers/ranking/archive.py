"""One user's archived history as immutable arrays, ready to be ranked for any question.

Units stand in the order of time (session, then position), so that a higher index is a newer unit and the
neighbours of a unit in its session are the indexes beside it.
"""

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assemblers.ranking.postings import Counts, Postings, Saturation, build_postings

GAPS: Final[int] = 2
"""As many as neighbours count on one side."""

PLAIN: Final[Saturation] = Saturation()
"""The constants that worths are prepared for where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class IndexUnit:
    """What ranking knows of one archived excerpt: where it stands and how often it says what."""

    no: int
    """Number of the excerpt in the caller's store; unique within the archive."""
    session: int
    """Orders the user's sessions by start time: a later session has a higher one. Gaps are allowed."""
    position: int
    """Place within its session; gaps are allowed."""
    terms: Mapping[str, int]
    """Index terms (``analysis.analyze``) and how often each occurs, all at least 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    """The units of one user. All arrays are read-only; sharing one between threads is safe."""

    numbers: NDArray[np.int64]
    """Per unit: its ``IndexUnit.no``."""
    sessions: NDArray[np.int64]
    """Per unit: its session's ordinal among those that hold units, from 0, ascending."""
    slots: NDArray[np.int64]
    """Per unit: its place in a row where two gaps stand between sessions; neighbours are found beside it."""
    indexes: NDArray[np.int64]
    """Per unit: its own index, kept since every ranking needs them."""
    row_size: int
    """Places in the row of the units with two gaps at either end."""
    size: int
    """Places in the sums of ``postings``: those of the row, and behind them one for each session."""
    rows: Mapping[str, int]
    """Term to its row in ``postings``."""
    postings: Postings
    """Documents are the units, then the sessions, each read as one: what the talk as a whole was about."""

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def nbytes(self) -> int:
        """Bytes held, for a cache that is bounded in size: arrays exactly, the vocabulary by estimate."""
        vocabulary = sys.getsizeof(self.rows) + sum(map(sys.getsizeof, self.rows))
        arrays = (self.numbers, self.sessions, self.slots, self.indexes)
        return sum(array.nbytes for array in arrays) + vocabulary + self.postings.nbytes

    def index_of(self, number: int) -> int | None:
        """Index of the unit whose ``IndexUnit.no`` is ``number``; None if it is not archived here."""
        found = np.flatnonzero(self.numbers == number)
        return int(found[0]) if len(found) else None


def build_archive(units: Sequence[IndexUnit], saturation: Saturation | None = None) -> Archive:
    """Archive of ``units``, given in any order. Raises ``ValueError`` on a repeated number.

    ``saturation`` are the constants that worths are prepared for (default: ``Saturation()``); a question may
    still be ranked with others, a little slower.
    """
    ordered = sorted(units, key=lambda unit: (unit.session, unit.position, -unit.no))
    numbers = np.fromiter((unit.no for unit in ordered), np.int64, len(ordered))
    given = np.fromiter((unit.session for unit in ordered), np.int64, len(ordered))
    sessions = np.unique(given, return_inverse=True)[1].astype(np.int64)
    _refuse_repeats(numbers)
    indexes = np.arange(len(ordered))
    slots = indexes + GAPS * sessions
    row_size = (int(slots[-1]) + 1 if len(slots) else 0) + 2 * GAPS
    vocabulary, counts = _count_by_unit(ordered)
    talks = _count_by_session(counts, sessions)
    size = row_size + talks.document_count
    places = np.concatenate((slots + GAPS, np.arange(row_size, size)))
    postings = build_postings((counts, talks), places, saturation or PLAIN)
    for array in (numbers, sessions, slots, indexes):
        array.setflags(write=False)
    return Archive(numbers, sessions, slots, indexes, row_size, size, vocabulary, postings)


def _refuse_repeats(numbers: NDArray[np.int64]) -> None:
    ordered = np.sort(numbers)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise ValueError(f"no {repeated[0]} stands for two units; give each unit its own number")


def _count_by_unit(units: Sequence[IndexUnit]) -> tuple[Mapping[str, int], Counts]:
    """The vocabulary as term to row, and the counts sorted by row."""
    # One pass per array through iterators in C: a loop over postings would take seconds for 50,000 units.
    vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
    sizes = np.fromiter((len(unit.terms) for unit in units), np.int64, len(units))
    total = int(sizes.sum())
    terms = chain.from_iterable(unit.terms for unit in units)
    rows = np.fromiter(map(vocabulary.__getitem__, terms), np.int32, total)
    frequencies = np.fromiter(chain.from_iterable(unit.terms.values() for unit in units), np.int32, total)
    documents = np.repeat(np.arange(len(units), dtype=np.int32), sizes)
    order = np.argsort(rows, kind="stable")
    counts = Counts(rows[order], documents[order], frequencies[order], len(vocabulary), len(units))
    return dict(vocabulary), counts


def _count_by_session(units: Counts, sessions: NDArray[np.int64]) -> Counts:
    """Sums the units' counts. Units ascend by session, so what belongs together already lies together."""
    session_count = int(sessions[-1]) + 1 if len(sessions) else 0
    owners = sessions[units.documents].astype(np.int32)
    changes = (np.diff(units.rows) != 0) | (np.diff(owners) != 0)
    firsts = np.flatnonzero(np.concatenate(([True], changes)))[: len(owners)]
    # reduceat refuses an empty array even where nothing is asked of it.
    sums = np.add.reduceat(units.frequencies, firsts) if len(firsts) else units.frequencies
    return Counts(units.rows[firsts], owners[firsts], sums, units.row_count, session_count)
