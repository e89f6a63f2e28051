"""The domain's records: what is stored, gathered and assembled. Plain frozen data, no behaviour beyond identity.

Every datetime is timezone-aware and in UTC. Token figures are integers. Texts are valid Unicode without NUL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from urllib.parse import quote


class Role(StrEnum):
    """Who speaks in a message, as providers name it."""

    SYSTEM = "SYSTEM"
    DEVELOPER = "DEVELOPER"
    USER = "USER"
    ASSISTANT = "ASSISTANT"
    TOOL = "TOOL"


class SectionKind(StrEnum):
    """The sections of a prompt, listed from the slowest-changing to the fastest: this is their byte order."""

    PREFIX = "PREFIX"
    FACTS = "FACTS"
    HISTORY = "HISTORY"
    MATERIAL = "MATERIAL"
    SESSION = "SESSION"
    QUESTION = "QUESTION"


class SectionStatus(StrEnum):
    """How a section came out."""

    OK = "OK"
    EMPTY = "EMPTY"
    TRUNCATED = "TRUNCATED"
    SKIPPED_BUDGET = "SKIPPED_BUDGET"
    UNAVAILABLE = "UNAVAILABLE"
    STALE = "STALE"
    DENIED = "DENIED"


class FactKind(StrEnum):
    """The kinds of durable fact; each has its own time to live."""

    PREFERENCE = "PREFERENCE"
    CONTEXT = "CONTEXT"
    CORRECTION = "CORRECTION"
    ATTRIBUTE = "ATTRIBUTE"


class FactOrigin(StrEnum):
    """How a fact came to be known."""

    STATED = "STATED"
    TOOL = "TOOL"
    IMPORTED = "IMPORTED"
    OPERATOR = "OPERATOR"


class FactState(StrEnum):
    """What became of a fact. Expiry is not stored: it follows from `expire_time` and the instant of reading."""

    CURRENT = "CURRENT"
    SUPERSEDED = "SUPERSEDED"
    INVALIDATED = "INVALIDATED"
    DELETED = "DELETED"


class ValueType(StrEnum):
    """The types of a fact's value."""

    TEXT = "TEXT"
    INTEGER = "INTEGER"
    NUMBER = "NUMBER"
    FLAG = "FLAG"
    INSTANT = "INSTANT"
    STATEMENT = "STATEMENT"


class Certainty(StrEnum):
    """How surely a slot is known: user text is tentative, a system of record confirms."""

    TENTATIVE = "TENTATIVE"
    CONFIRMED = "CONFIRMED"


class Outcome(StrEnum):
    """The fate of a candidate."""

    INCLUDED = "INCLUDED"
    SHORTENED = "SHORTENED"
    EXCLUDED = "EXCLUDED"


class Reason(StrEnum):
    """Why a candidate met its fate."""

    REQUIRED = "REQUIRED"
    WITHIN_BUDGET = "WITHIN_BUDGET"
    OVER_BUDGET = "OVER_BUDGET"
    OVER_CEILING = "OVER_CEILING"
    BELOW_THRESHOLD = "BELOW_THRESHOLD"
    BELOW_CUTOFF = "BELOW_CUTOFF"
    DUPLICATE = "DUPLICATE"
    EXPIRED = "EXPIRED"
    SUPERSEDED = "SUPERSEDED"
    INVALIDATED = "INVALIDATED"
    KEY_NOT_ALLOWED = "KEY_NOT_ALLOWED"
    LOW_CONFIDENCE = "LOW_CONFIDENCE"
    EMPTY_QUERY = "EMPTY_QUERY"
    LATE = "LATE"
    UNAVAILABLE = "UNAVAILABLE"
    ERASED = "ERASED"


@dataclass(frozen=True, slots=True)
class UserRef:
    """A user of a tenant; the pair is the unit of isolation."""

    tenant_id: str
    user_id: str


@dataclass(frozen=True, slots=True)
class SessionRef:
    """One conversation of a user."""

    tenant_id: str
    user_id: str
    session_id: str

    @property
    def user(self) -> UserRef:
        """The session's user."""
        return UserRef(self.tenant_id, self.user_id)


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text content."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asked for. `arguments_json` is canonical JSON (RFC 8785)."""

    call_id: str
    tool_name: str
    arguments_json: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered. `result_json` is canonical JSON (RFC 8785)."""

    call_id: str
    tool_name: str
    is_error: bool
    result_json: str


Content = Text | ToolCall | ToolResult


@dataclass(frozen=True, slots=True)
class Turn:
    """One contribution to a session. `speaker` names the person for archives with several; empty otherwise."""

    turn_id: str
    role: Role
    contents: tuple[Content, ...]
    occur_time: datetime
    speaker: str = ""

    @property
    def text(self) -> str:
        """The turn's text contents joined by line feeds."""
        return "\n".join(c.text for c in self.contents if isinstance(c, Text))


@dataclass(frozen=True, slots=True)
class Subject:
    """What a fact is about: `kind` is "user", "account" or an entity type; `id` is empty for the user."""

    kind: str = "user"
    id: str = ""


FactValue = str | int | float | bool | datetime


@dataclass(frozen=True, slots=True)
class Fact:
    """One immutable assertion about a subject. `no` is its number within (tenant, user), from 1, never reused.

    `read_time` is when the source was read and is what ages and TTLs run from; `revision` is the order of writing
    for this user. Of two assertions of one (subject, key) the later (`read_time`, `revision`) is current.
    `commitment` is the salted SHA-256 of the content, 32 bytes.
    """

    no: int
    user: UserRef
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
    write_time: datetime
    expire_time: datetime
    revision: int
    source_turn: str = ""
    state: FactState = FactState.CURRENT
    superseded_by: int = 0
    invalidated_time: datetime | None = None
    invalidation_reason: str = ""
    commitment: bytes = b""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of an archived turn. `no` is its number within (tenant, user), from 1, in order of archiving.

    `session_no` numbers the user's archived sessions; `position` orders the excerpts within their session.
    `terms` are the index terms with their frequencies under `assemblers.ranking.INDEX_FORMAT`.
    """

    no: int
    session_no: int
    position: int
    session_id: str
    session_time: datetime
    turn_id: str
    role: Role
    speaker: str
    text: str
    occur_time: datetime
    terms: Mapping[str, int] = field(default_factory=dict)
    commitment: bytes = b""


@dataclass(frozen=True, slots=True)
class Focus:
    """What the session is about now."""

    type: str
    id: str
    label: str
    certainty: Certainty
    set_by: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter in force."""

    key: str
    value: str
    certainty: Certainty
    set_by: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class RecentQuestion:
    """An earlier question of the session, capped in length."""

    turn_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Slots:
    """The state of one conversation. Never holds an answer. Filters are sorted by key, questions oldest first."""

    focus: Focus | None = None
    filters: tuple[Filter, ...] = ()
    answer_format: str = ""
    recent_questions: tuple[RecentQuestion, ...] = ()


@dataclass(frozen=True, slots=True)
class Material:
    """A document or tool result that the caller retrieved for this turn. `index` is its place in the request."""

    index: int
    text: str
    title: str
    source: str
    read_time: datetime
    document_revision: str = ""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool offered to the model. `definition_json` is canonical JSON."""

    name: str
    definition_json: str


@dataclass(frozen=True, slots=True)
class PrefixRevision:
    """An immutable system text with its tools, sorted by name. `digest` is the SHA-256 (hex) of its canonical form."""

    tenant_id: str
    prefix_id: str
    digest: str
    text: str
    tools: tuple[ToolDefinition, ...]
    create_time: datetime
    allowed_patterns: tuple[str, ...] = ()
    name: str = field(init=False)
    """The resource name, ids percent-encoded."""

    def __post_init__(self) -> None:
        tenant, prefix = quote(self.tenant_id, safe=""), quote(self.prefix_id, safe="")
        object.__setattr__(self, "name", f"tenants/{tenant}/prefixes/{prefix}/revisions/{self.digest}")


@dataclass(frozen=True, slots=True)
class Degradation:
    """Something that a prompt had to do without."""

    section: SectionKind
    status: SectionStatus
    reason: Reason
    detail: str
