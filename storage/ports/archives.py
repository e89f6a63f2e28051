"""Excerpts of past sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from assemblers.ranking import Archive
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
    the same order."""

    epoch: int
    excerpts: tuple[Excerpt, ...]
    archive: Archive


class ArchiveStore(Protocol):
    """Excerpts of past sessions."""

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
