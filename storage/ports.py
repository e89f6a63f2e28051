"""The ports: what the gateway needs to have kept, one small protocol per aggregate.

A method is one atomic step: it is done whole and durable (fsynced) when it returns, or not at all. Writes take a
`Receipt`: its key is stored in the same transaction, so that a repeat raises `Repeated` with the first answer and a
repeat with another body raises `RequestIdReused`. `peek` methods answer from memory and never block; None means
"load it". Reading never creates anything. Errors are those of `storage.errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from assemblers.ranking import Archive
from assemblers.records import (
    Excerpt,
    Fact,
    FactKind,
    FactOrigin,
    FactValue,
    PrefixRevision,
    SessionRef,
    Slots,
    Subject,
    Turn,
    UserRef,
    ValueType,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items in order, and where the next ones begin: `next_cursor` is "" after the last."""

    items: tuple[T, ...]
    next_cursor: str


@dataclass(frozen=True, slots=True)
class PageRequest:
    """At most `size` items (>= 1) after `cursor` ("" from the start; else a `next_cursor`)."""

    size: int
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Receipt(Generic[T]):
    """The idempotency of one write. `encode` turns the result into the answer's bytes inside the transaction.

    The key is (tenant, method, request_id); kept 24 hours from `now`.
    """

    tenant_id: str
    method: str
    request_id: str
    body_sha256: bytes
    now: datetime
    encode: Callable[[T], bytes]


# -- facts


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


# -- history


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


# -- turns of live sessions


@dataclass(frozen=True, slots=True)
class TurnsWritten:
    """How many turns were new; a known turn id with equal content is counted as a duplicate, with other content it is
    refused (`AlreadyExists("turn_id")`) and nothing is stored."""

    recorded: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """What ending a session did. `archived` is None where the policy keeps nothing."""

    turns: int
    archived: ArchiveWritten | None


class TranscriptStore(Protocol):
    """The turns of live sessions. An expired turn is never returned.

    `expire_time` None: kept until the session ends.
    """

    async def record(
        self,
        session: SessionRef,
        turns: Sequence[Turn],
        now: datetime,
        expire_time: datetime | None,
        receipt: Receipt[TurnsWritten],
    ) -> TurnsWritten: ...
    async def list(self, session: SessionRef, now: datetime, page: PageRequest) -> Page[Turn]: ...
    async def since_last_question(self, session: SessionRef, now: datetime) -> tuple[Turn, ...]:
        """The latest USER turn and all after it, oldest first; all turns where there is no USER turn."""
        ...

    async def end(
        self,
        session: SessionRef,
        archived: ArchivedSession | None,
        now: datetime,
        receipt: Receipt[SessionEnded],
        expected_turns: int | None = None,
    ) -> SessionEnded:
        """Archive what is given and remove the session's turns, in one step.

        Raises `SessionChanged` unless it has `expected_turns` (None: any number): what was recorded after the archive
        was made must not go with the rest.
        """
        ...


# -- policies and prefixes


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """An immutable policy document: canonical JSON under its SHA-256 (hex)."""

    tenant_id: str
    policy_id: str
    digest: str
    document: bytes
    author: str
    create_time: datetime


@dataclass(frozen=True, slots=True)
class PolicyHead:
    """A policy's mutable head: the active revision ("" if none), the one before it, and whether calls that name no
    policy get it."""

    tenant_id: str
    policy_id: str
    active: str
    previous: str
    is_default: bool
    etag: str
    update_time: datetime


class PolicyStore(Protocol):
    """Policy revisions and their activation."""

    def peek_active(self, tenant_id: str, policy_id: str) -> StoredPolicy | None:
        """The active revision of a policy, or the tenant's default for policy_id ""; None: nothing active."""
        ...

    def peek_revision(self, tenant_id: str, policy_id: str, digest: str) -> StoredPolicy | None: ...
    async def register(self, revision: StoredPolicy, receipt: Receipt[StoredPolicy]) -> StoredPolicy:
        """Store a revision; an equal one is returned as it was first stored."""
        ...

    async def head(self, tenant_id: str, policy_id: str) -> PolicyHead: ...
    async def heads(self, tenant_id: str, page: PageRequest) -> Page[PolicyHead]: ...
    async def revisions(self, tenant_id: str, policy_id: str, page: PageRequest) -> Page[StoredPolicy]:
        """Newest first."""
        ...

    async def activate(
        self,
        tenant_id: str,
        policy_id: str,
        digest: str,
        as_default: bool | None,
        etag: str,
        now: datetime,
        receipt: Receipt[PolicyHead],
    ) -> PolicyHead:
        """Make a revision active. `as_default` None: the default if the tenant has none. `etag` "" matches any."""
        ...

    async def roll_back(
        self, tenant_id: str, policy_id: str, etag: str, now: datetime, receipt: Receipt[PolicyHead]
    ) -> PolicyHead:
        """Make the previous revision active again; `NotFound` where there is none."""
        ...


class PrefixStore(Protocol):
    """Prefix revisions."""

    def peek(self, tenant_id: str, prefix_id: str, digest: str) -> PrefixRevision | None:
        """The revision, or the newest for digest ""."""
        ...

    async def register(
        self, revision: PrefixRevision, receipt: Receipt[PrefixRevision]
    ) -> PrefixRevision: ...
    async def revisions(self, tenant_id: str, prefix_id: str, page: PageRequest) -> Page[PrefixRevision]:
        """Newest first."""
        ...


# -- traces


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
    """A turn that was answered within the last 24 hours."""

    trace_id: str
    body_sha256: bytes


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

    def answered(self, session: SessionRef, turn_id: str, now: datetime) -> AnsweredTurn | None:
        """Whether the turn was answered; a key look-up that is quick enough to be done in place."""
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


class UserStore(Protocol):
    """Users' pseudonyms, which stand for them in the chain."""

    def peek(self, user: UserRef) -> str | None: ...
    async def pseudonym(self, user: UserRef) -> str:
        """The user's random pseudonym (32 hex digits), made durable on first use."""
        ...


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What the provider billed for a trace, beside what was estimated. Tokens; `estimated_raw` before the factor."""

    tenant_id: str
    trace_id: str
    calibration_key: str
    estimated_raw: int
    input_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    output_tokens: int
    report_time: datetime


class UsageStore(Protocol):
    """Reported usage."""

    async def report(self, usage: UsageReport, receipt: Receipt[UsageReport]) -> UsageReport: ...
    def peek_observations(self, tenant_id: str, calibration_key: str) -> tuple[tuple[int, int], ...]:
        """The latest (estimated_raw, input_tokens) pairs, at most 1,000, newest last."""
        ...


# -- the session cache


@dataclass(frozen=True, slots=True)
class SessionState:
    """The cached state of a session. `revision` grows with each put, from 1.

    `expire_time` is when it is forgotten unless it is touched before; None where nothing is cached.
    """

    slots: Slots
    revision: int
    expire_time: datetime | None = field(default=None, compare=False)


class SessionCache(Protocol):
    """Slots with a time to live; losing them costs one repeated question."""

    async def get(self, session: SessionRef, now: datetime) -> SessionState | None: ...
    async def put(
        self, session: SessionRef, slots: Slots, expected_revision: int, now: datetime, ttl_seconds: int
    ) -> bool:
        """Store and touch, if the revision is still the expected one (0: none stored). False: somebody was faster."""
        ...

    async def drop(self, session: SessionRef) -> None: ...


class Storage(Protocol):
    """Everything that is kept, in one handle."""

    facts: FactStore
    archives: ArchiveStore
    transcripts: TranscriptStore
    policies: PolicyStore
    prefixes: PrefixStore
    traces: TraceStore
    users: UserStore
    usage: UsageStore
    sessions: SessionCache

    async def ready(self) -> bool:
        """Whether reads and writes work now."""
        ...

    async def close(self) -> None:
        """Finish what was accepted and let go of everything."""
        ...
