"""One user's archived history as immutable arrays, ready to be ranked for any question.

Units stand in the order of time (session, then position), so that a higher index is a newer unit and the
neighbours of a unit in its session are the indexes beside it.
"""

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from assemblers.ranking.postings import Postings, Saturation, build_postings


@dataclass(frozen=True, slots=True)
class IndexUnit:
    """What ranking knows of one archived excerpt: where it stands and how often it says what."""

    no: int
    """Number of the excerpt in the caller's store; unique within the archive."""
    session: int
    """Ordinal of its session by start time, dense from 0: a later session has a higher one."""
    position: int
    """Place within its session; gaps are allowed."""
    terms: Mapping[str, int]
    """Index terms (``analysis.analyze``) and how often each occurs, all at least 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    """The units of one user. All arrays are read-only; sharing one between threads is safe."""

    numbers: NDArray[np.int64]
    """Per unit: its ``IndexUnit.no``."""
    sessions: NDArray[np.int32]
    """Per unit: its session's ordinal, ascending."""
    rows: Mapping[str, int]
    """Term to its row in both postings."""
    unit_postings: Postings
    session_postings: Postings
    """Each session read as one long document: what the talk as a whole was about."""

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def nbytes(self) -> int:
        """Bytes held, for a cache that is bounded in size: arrays exactly, the vocabulary by estimate."""
        vocabulary = sys.getsizeof(self.rows) + sum(map(sys.getsizeof, self.rows))
        arrays = self.numbers.nbytes + self.sessions.nbytes
        return arrays + vocabulary + self.unit_postings.nbytes + self.session_postings.nbytes

    def index_of(self, number: int) -> int | None:
        """Index of the unit whose ``IndexUnit.no`` is ``number``; None if it is not archived here."""
        found = np.flatnonzero(self.numbers == number)
        return int(found[0]) if len(found) else None


def build_archive(units: Sequence[IndexUnit], saturation: Saturation | None = None) -> Archive:
    """Archive of ``units``, given in any order. Raises ``ValueError`` on a repeated number or place.

    ``saturation`` are the constants that worths are prepared for (default: ``Saturation()``); a question may
    still be ranked with others, a little slower.
    """
    ordered = sorted(units, key=lambda unit: (unit.session, unit.position, -unit.no))
    numbers = np.fromiter((unit.no for unit in ordered), np.int64, len(ordered))
    sessions = np.fromiter((unit.session for unit in ordered), np.int32, len(ordered))
    _refuse_repeats(numbers)
    _refuse_sparse(sessions)
    rows, postings = _unit_postings(ordered, saturation or Saturation())
    for array in (numbers, sessions):
        array.setflags(write=False)
    return Archive(numbers, sessions, rows, postings, _session_postings(postings, sessions))


def _refuse_repeats(numbers: NDArray[np.int64]) -> None:
    ordered = np.sort(numbers)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise ValueError(f"no {repeated[0]} stands for two units; give each unit of an archive its own number")


def _refuse_sparse(sessions: NDArray[np.int32]) -> None:
    """Ordinals with holes would weigh sessions that do not exist into the idf."""
    if len(sessions) and (sessions[0] != 0 or (np.diff(sessions) > 1).any()):
        raise ValueError("session ordinals must be dense from 0; number the sessions that hold units")


def _unit_postings(units: Sequence[IndexUnit], saturation: Saturation) -> tuple[Mapping[str, int], Postings]:
    # One pass per array through iterators in C: a loop over postings would take seconds for 50,000 units.
    vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
    sizes = np.fromiter((len(unit.terms) for unit in units), np.int64, len(units))
    total = int(sizes.sum())
    terms = chain.from_iterable(unit.terms for unit in units)
    rows = np.fromiter(map(vocabulary.__getitem__, terms), np.int32, total)
    frequencies = np.fromiter(chain.from_iterable(unit.terms.values() for unit in units), np.float64, total)
    documents = np.repeat(np.arange(len(units), dtype=np.int32), sizes)
    order = np.argsort(rows, kind="stable")
    shape = (len(vocabulary), len(units))
    postings = build_postings(rows[order], documents[order], frequencies[order], shape, saturation)
    return dict(vocabulary), postings


def _session_postings(units: Postings, sessions: NDArray[np.int32]) -> Postings:
    """Sums the units' postings by session. Units ascend by session, so equal keys already lie together."""
    session_count = int(sessions[-1]) + 1 if len(sessions) else 0
    row_count = len(units.idf)
    rows = np.repeat(np.arange(row_count, dtype=np.int32), np.diff(units.starts))
    owners = sessions[units.documents]
    changes = (np.diff(rows) != 0) | (np.diff(owners) != 0)
    firsts = np.flatnonzero(np.concatenate(([True], changes))) if len(rows) else np.empty(0, np.int64)
    sums = np.add.reduceat(units.frequencies, firsts) if len(rows) else units.frequencies.copy()
    return build_postings(rows[firsts], owners[firsts], sums, (row_count, session_count), units.saturation)
