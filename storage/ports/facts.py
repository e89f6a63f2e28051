"""Durable facts about users."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from assemblers.records import Fact, FactKind, FactOrigin, FactValue, Subject, UserRef, ValueType
from storage.ports.pages import Page, PageRequest
from storage.ports.receipts import Receipt


@dataclass(frozen=True, slots=True)
class FactDraft:
    """An admitted fact before it has a number. `salt` (16 random bytes) and the commitment are added by the store."""

    subject: Subject
    key: str
    type: ValueType
    value: FactValue
    kind: FactKind
    origin: FactOrigin
    source: str
    writer: str
    confidence_permille: int
    read_time: datetime
    expire_time: datetime
    source_turn: str = ""


@dataclass(frozen=True, slots=True)
class FactWritten:
    """What became of a draft. A draft older (by read time) than the current fact is stored as superseded at once.

    `duplicate` says that an equal current fact existed (same value, source and read time): `fact` is that one.
    """

    fact: Fact
    superseded: tuple[Fact, ...] = ()
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class FactSelector:
    """Which facts: every set criterion must hold. Times bound `write_time`, the end exclusive."""

    no: int | None = None
    subject: Subject | None = None
    key: str | None = None
    source: str | None = None
    writer: str | None = None
    written_from: datetime | None = None
    written_until: datetime | None = None
    include_retired: bool = False


@dataclass(frozen=True, slots=True)
class FactSnapshot:
    """A user's facts under an epoch, which grows with every change: all with state CURRENT (expired ones too) and,
    per (subject, key), the latest SUPERSEDED or INVALIDATED one. Sorted by (key, subject, no)."""

    epoch: int
    facts: tuple[Fact, ...]


class FactStore(Protocol):
    """Durable facts."""

    def peek(self, user: UserRef) -> FactSnapshot | None: ...
    async def load(self, user: UserRef) -> FactSnapshot: ...
    def forget(self, user: UserRef) -> None:
        """The user's facts were changed by another process: let the snapshot be loaded anew."""
        ...

    async def get(self, user: UserRef, no: int) -> Fact: ...
    async def list(self, user: UserRef, selector: FactSelector, page: PageRequest) -> Page[Fact]: ...
    async def record(
        self,
        user: UserRef,
        drafts: Sequence[FactDraft],
        now: datetime,
        receipt: Receipt[tuple[FactWritten, ...]],
    ) -> tuple[FactWritten, ...]: ...
    async def invalidate(
        self,
        user: UserRef,
        selector: FactSelector,
        reason: str,
        now: datetime,
        receipt: Receipt[tuple[Fact, ...]],
    ) -> tuple[Fact, ...]: ...
    async def delete(self, user: UserRef, no: int, etag: str, now: datetime, receipt: Receipt[Fact]) -> Fact:
        """Remove the content for good; number, key, times and commitment stay as proof (state DELETED)."""
        ...
