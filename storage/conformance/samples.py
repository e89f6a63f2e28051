"""The things that the suites store: short to make, different where it matters."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final, Generic, TypeVar

from assemblers.ranking import analyze
from assemblers.records import (
    FactKind,
    FactOrigin,
    FactValue,
    PrefixRevision,
    Role,
    SessionRef,
    Subject,
    Text,
    ToolDefinition,
    Turn,
    UserRef,
    ValueType,
)
from storage.errors import StorageError
from storage.ports import (
    ArchivedSession,
    ExcerptDraft,
    FactDraft,
    PageRequest,
    Receipt,
    StoredPolicy,
    TraceDraft,
    UsageReport,
)

T = TypeVar("T")
E = TypeVar("E", bound=StorageError)

NOW: Final = datetime(2026, 11, 15, 12, 0, 0, 123456, tzinfo=UTC)
USER: Final = UserRef("acme", "ann")
OTHER: Final = UserRef("acme", "bob")
FOREIGN: Final = UserRef("umbrella", "ann")
SESSION: Final = SessionRef("acme", "ann", "s1")
ALL: Final = PageRequest(10_000)


def later(**parts: int) -> datetime:
    """`NOW` and that much, in the parts of a timedelta."""
    return NOW + timedelta(**parts)


class Caught(Generic[E]):
    """The error that came."""

    error: E


@contextmanager
def refused(kind: type[E]) -> Iterator[Caught[E]]:
    """The block must end with an error of exactly this kind."""
    caught: Caught[E] = Caught()
    try:
        yield caught
    except StorageError as error:
        if type(error) is not kind:
            raise AssertionError(f"{type(error).__name__} instead of {kind.__name__}") from error
        caught.error = error
    else:
        raise AssertionError(f"no {kind.__name__}")


def receipt(request_id: str = "", tenant_id: str = "acme", body: str = "", now: datetime = NOW) -> Receipt[T]:
    """A receipt whose answer is the representation of the result; without an id it is none."""
    digest = hashlib.sha256(body.encode()).digest()
    return Receipt(tenant_id, "method", request_id, digest, now, lambda result: repr(result).encode())


def fact(key: str = "currency", value: FactValue = "EUR", read: datetime = NOW, days: int = 90) -> FactDraft:
    """A fact about the user as its type demands, read at `read` and valid for `days` from then."""
    return about(Subject(), key, value, read, days)


def about(
    subject: Subject, key: str, value: FactValue, read: datetime = NOW, days: int = 90, writer: str = "agent"
) -> FactDraft:
    """A fact about a subject."""
    return FactDraft(
        subject=subject,
        key=key,
        type=_type_of(value),
        value=value,
        kind=FactKind.CONTEXT,
        origin=FactOrigin.STATED,
        source="chat",
        writer=writer,
        confidence_permille=1000,
        read_time=read,
        expire_time=read + timedelta(days=days),
        source_turn="t0",
    )


def _type_of(value: FactValue) -> ValueType:
    types: dict[type, ValueType] = {
        str: ValueType.TEXT,
        bool: ValueType.FLAG,
        int: ValueType.INTEGER,
        float: ValueType.NUMBER,
        datetime: ValueType.INSTANT,
    }
    return types[type(value)]


def turn(turn_id: str, text: str = "hello", role: Role = Role.USER, when: datetime = NOW) -> Turn:
    """A turn of one text."""
    return Turn(turn_id, role, (Text(text),), when)


def archived(session_id: str, *texts: str, when: datetime = NOW) -> ArchivedSession:
    """A past session with a turn for each text."""
    excerpts = [
        ExcerptDraft(position, f"{session_id}-t{position}", "USER", "", text, when, terms_of(text))
        for position, text in enumerate(texts)
    ]
    return ArchivedSession(session_id, when, tuple(excerpts))


def terms_of(text: str) -> dict[str, int]:
    """The index terms of a text with their frequencies."""
    terms: dict[str, int] = {}
    for term in analyze(text):
        terms[term] = terms.get(term, 0) + 1
    return terms


def policy(
    policy_id: str = "support", text: str = "{}", tenant_id: str = "acme", when: datetime = NOW
) -> StoredPolicy:
    """A policy revision."""
    document = text.encode()
    return StoredPolicy(tenant_id, policy_id, hashlib.sha256(document).hexdigest(), document, "ops", when)


def prefix(prefix_id: str = "main", text: str = "You help.", tenant_id: str = "acme") -> PrefixRevision:
    """A prefix revision with a tool."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    tools = (ToolDefinition("find", '{"name":"find"}'),)
    return PrefixRevision(tenant_id, prefix_id, digest, text, tools, NOW, ("date",))


def trace(
    trace_id: str,
    session: SessionRef = SESSION,
    turn_id: str = "",
    kept: Turn | None = None,
    when: datetime = NOW,
    content: str = "content",
) -> TraceDraft:
    """A trace of a turn, by default of a turn of its own."""
    return TraceDraft(
        trace_id=trace_id,
        session=session,
        turn_id=turn_id or f"turn-of-{trace_id}",
        policy="support",
        create_time=when,
        record=f"record of {trace_id}".encode(),
        content=content.encode(),
        body_sha256=b"b" * 32,
        turn=kept,
    )


def usage(trace_id: str, raw: int = 100, billed: int = 110, tenant_id: str = "acme") -> UsageReport:
    """What was billed for a trace."""
    return UsageReport(tenant_id, trace_id, "anthropic", raw, billed, 10, 5, 20, NOW)
