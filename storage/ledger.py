"""The chain of a tenant's traces: how a record is sealed, and how a change, removal or swap is found.

A seal's hash covers the record and the hash before it, so every record vouches for all earlier ones. What the
chain alone cannot show is that its end was cut off, or that all of it was written anew: for that a head known
from elsewhere is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Final, Protocol

from assemblers.records import Excerpt, Fact
from assemblers.trace.commitments import commitment, session_pseudonym, turn_pseudonym, user_pseudonym
from assemblers.trace.wire import micros, write_json
from storage.ports import ExcerptDraft, FactDraft, Seal

GENESIS: Final = bytes(32)
"""The hash before the first record."""

FIRST_SEQUENCE: Final = 1


class Flaw(StrEnum):
    """What is wrong at a place of a chain."""

    CHANGED = "CHANGED"
    """A record's bytes or its own hash are not those that were sealed."""
    MISSING = "MISSING"
    """Records are missing before this one."""
    MISPLACED = "MISPLACED"
    """The record does not follow the one before it: swapped, repeated, or from another chain."""
    TRUNCATED = "TRUNCATED"
    """The chain ends before the known head."""
    REWRITTEN = "REWRITTEN"
    """The chain agrees with itself, and not with the known head."""


@dataclass(frozen=True, slots=True)
class Break:
    """The first place where a chain does not hold; `sequence` is the number that was expected there."""

    sequence: int
    flaw: Flaw


class Sealed(Protocol):
    """A record with its seal, such as `storage.ports.StoredTrace`."""

    @property
    def record(self) -> bytes: ...
    @property
    def seal(self) -> Seal: ...


def seal(previous_hash: bytes, sequence: int, record: bytes) -> Seal:
    """Seal a record behind the one whose hash is given (`GENESIS`: none). `sequence` counts from 1."""
    return Seal(sequence, previous_hash, sha256(previous_hash + record).digest())


def verify(records: Iterable[Sealed], after: Seal | None = None, head: Seal | None = None) -> Break | None:
    """The first break of a run of records in chain order, or None where it holds.

    The run begins behind `after` (None: at the chain's beginning). `head` is a seal known from elsewhere;
    with it, a run that ends earlier or has another hash at its place is a break too. A head before the run
    says nothing.
    """
    previous = after or Seal(FIRST_SEQUENCE - 1, GENESIS, GENESIS)
    for sealed in records:
        flaw = _flaw(previous, sealed, head)
        if flaw is not None:
            return Break(previous.sequence + 1, flaw)
        previous = sealed.seal
    if head is not None and head.sequence > previous.sequence:
        return Break(previous.sequence + 1, Flaw.TRUNCATED)
    return None


def _flaw(previous: Seal, sealed: Sealed, head: Seal | None) -> Flaw | None:
    own = sealed.seal
    if own.record_hash != sha256(own.previous_hash + sealed.record).digest():
        return Flaw.CHANGED
    if own.sequence > previous.sequence + 1:
        return Flaw.MISSING
    if own.sequence != previous.sequence + 1 or own.previous_hash != previous.record_hash:
        return Flaw.MISPLACED
    if head is not None and head.sequence == own.sequence and head.record_hash != own.record_hash:
        return Flaw.REWRITTEN
    return None


def fact_content(fact: FactDraft | Fact) -> bytes:
    """The canonical bytes of what a fact says, to be committed to: what its writer gave, not its fate."""
    value = micros(fact.value) if isinstance(fact.value, datetime) else fact.value
    said = [
        fact.subject.kind, fact.subject.id, fact.key, fact.type, value, fact.kind, fact.origin, fact.source,
        fact.writer, fact.confidence_permille, micros(fact.read_time), micros(fact.expire_time),
        fact.source_turn,
    ]  # fmt: skip
    return write_json(["muniment/fact/1", *said]).encode()


def excerpt_content(session_id: str, session_time: datetime, excerpt: ExcerptDraft | Excerpt) -> bytes:
    """The canonical bytes of an excerpt, to be committed to. Its index terms follow from its text."""
    said = [
        session_id, micros(session_time), excerpt.position, excerpt.turn_id, str(excerpt.role),
        excerpt.speaker, excerpt.text, micros(excerpt.occur_time),
    ]  # fmt: skip
    return write_json(["muniment/excerpt/1", *said]).encode()


__all__ = [
    "FIRST_SEQUENCE", "GENESIS", "Break", "Flaw", "Sealed", "commitment", "excerpt_content", "fact_content",
    "seal", "session_pseudonym", "turn_pseudonym", "user_pseudonym", "verify",
]  # fmt: skip
