"""The audit ledger."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from assemblers.records import SessionRef, Turn
from storage.ports.pages import Page, PageRequest


@dataclass(frozen=True, slots=True)
class TraceDraft:
    """A trace before it is sealed. `record` is its canonical bytes without content, which the chain hashes; `content`
    (texts and salts) lies beside the chain and can be erased. `body_sha256` is the request's, for repeats of the turn.
    `request_id` ("": none) stands for that body for 24 hours; no answer is kept for it, since the turn answers repeats.
    """

    trace_id: str
    session: SessionRef
    turn_id: str
    policy: str
    create_time: datetime
    record: bytes
    content: bytes
    body_sha256: bytes
    turn: Turn | None = None
    turn_expire_time: datetime | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Seal:
    """A record's place in its tenant's chain: `record_hash` = SHA-256(previous_hash ‖ record)."""

    sequence: int
    previous_hash: bytes
    record_hash: bytes


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """A sealed trace; `content` is None once erased."""

    trace_id: str
    session: SessionRef
    turn_id: str
    policy: str
    create_time: datetime
    record: bytes
    content: bytes | None
    seal: Seal


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """A turn that was answered within the last 24 hours. `stands_for` tells whether a digest is its request's."""

    trace_id: str
    stands_for: Callable[[bytes], bool] = field(compare=False)


@dataclass(frozen=True, slots=True)
class TraceSelector:
    """Which traces: every set criterion must hold; times bound `create_time`, the end exclusive.

    `policy` is the name of a revision, or of a policy for all its revisions.
    """

    user_id: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    policy: str | None = None
    created_from: datetime | None = None
    created_until: datetime | None = None


class TraceStore(Protocol):
    """The audit ledger: append-only, chained per tenant."""

    async def answered(self, session: SessionRef, turn_id: str, now: datetime) -> AnsweredTurn | None:
        """Whether the turn was answered within the last 24 hours."""
        ...

    async def append(self, draft: TraceDraft) -> Seal:
        """Append trace and turn in one durable step, shared with concurrent appends; the turn counts as answered.
        A turn that was answered in between raises `AlreadyExists("turn_id")`; a request id that was used with another
        body raises `RequestIdReused`, whatever the turn."""
        ...

    async def get(self, tenant_id: str, trace_id: str) -> StoredTrace: ...
    async def latest(self, session: SessionRef) -> StoredTrace | None: ...
    async def list(self, tenant_id: str, selector: TraceSelector, page: PageRequest) -> Page[StoredTrace]:
        """Newest first."""
        ...

    async def chain(self, tenant_id: str, after_sequence: int, limit: int) -> tuple[StoredTrace, ...]:
        """Records in chain order, for verification."""
        ...
