"""Excerpts of past sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assemblers.ranking import Archive, Vectors, VectorSpace
from assemblers.records import Excerpt, UserRef
from storage.ports.receipts import Receipt


@dataclass(frozen=True, slots=True)
class ExcerptDraft:
    """A piece of a turn to archive. `terms` are its index terms with frequencies."""

    position: int
    turn_id: str
    role: str
    speaker: str
    text: str
    occur_time: datetime
    terms: dict[str, int]


@dataclass(frozen=True, slots=True)
class ArchivedSession:
    """One past session to archive, dated by its start."""

    session_id: str
    session_time: datetime
    excerpts: tuple[ExcerptDraft, ...]


@dataclass(frozen=True, slots=True)
class ArchiveWritten:
    """How many excerpts were added and how many were there already (same session, turn and position), and the
    numbers of the new ones as a half-open range."""

    added: int
    duplicates: int
    first_no: int
    end_no: int


@dataclass(frozen=True, slots=True)
class ArchiveSnapshot:
    """A user's archive under an epoch: excerpts sorted by (session_time, session_no, position), and their arrays in
    the same order. `vectors` None: the store carries none."""

    epoch: int
    excerpts: tuple[Excerpt, ...]
    archive: Archive
    vectors: Vectors | None = None


class ArchiveStore(Protocol):
    """Excerpts of past sessions, and beside them their vectors, by embedder."""

    def carry(self, space: VectorSpace) -> None:
        """Let snapshots carry the vectors of this space, and of no other, from now on."""
        ...

    def peek(self, user: UserRef) -> ArchiveSnapshot | None: ...
    async def load(self, user: UserRef) -> ArchiveSnapshot: ...
    def forget(self, user: UserRef) -> None:
        """The user's archive was changed by another process: let the snapshot be loaded anew."""
        ...

    async def excerpts(self, user: UserRef, numbers: Sequence[int]) -> tuple[Excerpt, ...]:
        """The excerpts of those numbers, in their order; missing ones raise `Erased`."""
        ...

    async def append(
        self,
        user: UserRef,
        sessions: Sequence[ArchivedSession],
        now: datetime,
        receipt: Receipt[ArchiveWritten],
    ) -> ArchiveWritten: ...
    async def add_vectors(
        self, user: UserRef, space: VectorSpace, vectors: Mapping[int, NDArray[np.float32]]
    ) -> int:
        """Keep the vectors of excerpts by number, bit for bit, and advance the archive's epoch; gives how many were
        new. Numbers without an excerpt, or whose excerpt has a vector of that space, are left as they are. Raises
        `ValueError` for a vector of another dimension."""
        ...
