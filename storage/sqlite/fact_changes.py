"""What writing does to facts, within the caller's transaction: supersede, refuse, invalidate, delete."""

import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from assemblers.records import Fact, FactState, UserRef
from storage.errors import EtagMismatch, LimitExceeded, NotFound
from storage.etags import fact_etag
from storage.ledger import commitment, fact_content
from storage.ports import FactDraft, FactSelector, FactWritten
from storage.sql.columns import MAX_NUMBER, to_micros, value_to_content
from storage.sqlite.counters import read_counters, write_counters
from storage.sqlite.fact_rows import COLUMNS, COUNT_CURRENT, conditions, fact_of, find, find_current

MAX_CURRENT_FACTS: Final = 4_096
"""Current, unexpired facts of one user."""
SALT_BYTES: Final = 16

_INSERT = f"""INSERT INTO facts (tenant_id, user_id, salt, shown, {COLUMNS}) VALUES ({", ".join("?" * 25)})"""
_SUPERSEDE = """UPDATE facts SET state = 'SUPERSEDED', superseded_by = ?
    WHERE tenant_id = ? AND user_id = ? AND no = ?"""
_INVALIDATE = """UPDATE facts SET state = 'INVALIDATED', invalidated_time = ?, invalidation_reason = ?
    WHERE tenant_id = ? AND user_id = ? AND no = ?"""
# What could tell the content goes; number, key, times and commitment stay as the proof that it was there.
_DELETE = """UPDATE facts SET state = 'DELETED', content = NULL, salt = NULL, source = '', source_turn = '',
    invalidation_reason = '', delete_time = ?, shown = 0 WHERE tenant_id = ? AND user_id = ? AND no = ?"""

_OF_KEY = "tenant_id = ?1 AND user_id = ?2 AND subject_kind = ?3 AND subject_id = ?4 AND fact_key = ?5"
_HIDE_RETIRED = f"UPDATE facts SET shown = 0 WHERE {_OF_KEY} AND shown = 1 AND state <> 'CURRENT'"
_SHOW_LATEST_RETIRED = f"""UPDATE facts SET shown = 1 WHERE tenant_id = ?1 AND user_id = ?2 AND no =
    (SELECT no FROM facts WHERE {_OF_KEY} AND state IN ('SUPERSEDED', 'INVALIDATED')
    ORDER BY read_time DESC, revision DESC LIMIT 1)"""


def record_facts(
    connection: sqlite3.Connection, user: UserRef, drafts: Sequence[FactDraft], now: datetime
) -> tuple[FactWritten, ...]:
    """Store drafts in their order."""
    counters = read_counters(connection, user)
    before = counters.fact_no
    written = []
    for draft in drafts:
        outcome = _record(connection, user, draft, now, counters.fact_no + 1)
        counters.fact_no += 0 if outcome.duplicate else 1
        written.append(outcome)
    if counters.fact_no > before:
        _refuse_too_many(connection, user, now)
        counters.fact_epoch += 1
        write_counters(connection, user, counters)
    return tuple(written)


def _record(
    connection: sqlite3.Connection, user: UserRef, draft: FactDraft, now: datetime, no: int
) -> FactWritten:
    current = find_current(connection, user, draft.subject, draft.key)
    if current is not None and _says_the_same(draft, current):
        return FactWritten(current, duplicate=True)
    content = value_to_content(draft.value)
    salt = secrets.token_bytes(SALT_BYTES)
    fact = _number(user, draft, now, no, commitment(salt, fact_content(draft)))
    if current is None:
        superseded: tuple[Fact, ...] = ()
    elif draft.read_time < current.read_time:
        superseded = ()
        fact = replace(fact, state=FactState.SUPERSEDED, superseded_by=current.no)
    else:
        # First, since the index admits one current fact per (subject, key) only.
        connection.execute(_SUPERSEDE, (no, user.tenant_id, user.user_id, current.no))
        superseded = (replace(current, state=FactState.SUPERSEDED, superseded_by=no),)
    shown = int(fact.state is FactState.CURRENT)
    connection.execute(_INSERT, (user.tenant_id, user.user_id, salt, shown, *_columns(fact), content))
    if current is not None:
        _show_latest_retired(connection, fact)
    return FactWritten(fact, superseded)


def _show_latest_retired(connection: sqlite3.Connection, fact: Fact) -> None:
    """Something of this fact's (subject, key) was retired or deleted: show the latest of what is retired."""
    key = (fact.user.tenant_id, fact.user.user_id, fact.subject.kind, fact.subject.id, fact.key)
    connection.execute(_HIDE_RETIRED, key)
    connection.execute(_SHOW_LATEST_RETIRED, key)


def _says_the_same(draft: FactDraft, fact: Fact) -> bool:
    # The type as well, since 1, 1.0 and true are equal to Python.
    return (draft.type, draft.value, draft.source, draft.read_time) == (
        fact.type,
        fact.value,
        fact.source,
        fact.read_time,
    )


def _number(user: UserRef, draft: FactDraft, now: datetime, no: int, commitment: bytes) -> Fact:
    return Fact(
        no=no,
        user=user,
        subject=draft.subject,
        key=draft.key,
        type=draft.type,
        value=draft.value,
        kind=draft.kind,
        origin=draft.origin,
        source=draft.source,
        writer=draft.writer,
        confidence_permille=draft.confidence_permille,
        read_time=draft.read_time,
        write_time=now,
        expire_time=draft.expire_time,
        revision=no,
        source_turn=draft.source_turn,
        commitment=commitment,
    )


def _columns(fact: Fact) -> tuple[str | int | bytes | None, ...]:
    return (
        fact.no,
        fact.subject.kind,
        fact.subject.id,
        fact.key,
        fact.type,
        fact.kind,
        fact.origin,
        fact.source,
        fact.source_turn,
        fact.writer,
        fact.confidence_permille,
        to_micros(fact.read_time),
        to_micros(fact.write_time),
        to_micros(fact.expire_time),
        fact.revision,
        fact.state,
        fact.superseded_by,
        None if fact.invalidated_time is None else to_micros(fact.invalidated_time),
        fact.invalidation_reason,
        fact.commitment,
    )


def _refuse_too_many(connection: sqlite3.Connection, user: UserRef, now: datetime) -> None:
    (count,) = connection.execute(COUNT_CURRENT, (user.tenant_id, user.user_id, to_micros(now))).fetchone()
    if count > MAX_CURRENT_FACTS:
        raise LimitExceeded("current facts of a user", MAX_CURRENT_FACTS)


def invalidate_facts(
    connection: sqlite3.Connection, user: UserRef, selector: FactSelector, reason: str, now: datetime
) -> tuple[Fact, ...]:
    """Invalidate the current facts that a selector names; gives them as they are afterwards."""
    where, arguments = conditions(user, replace(selector, include_retired=False))
    rows = connection.execute(f"SELECT {COLUMNS} FROM facts WHERE {where} ORDER BY no", arguments).fetchall()
    facts = [fact_of(user, *row) for row in rows]
    for fact in facts:
        connection.execute(_INVALIDATE, (to_micros(now), reason, user.tenant_id, user.user_id, fact.no))
        _show_latest_retired(connection, fact)
    if facts:
        _advance_epoch(connection, user)
    return tuple(
        replace(fact, state=FactState.INVALIDATED, invalidated_time=now, invalidation_reason=reason)
        for fact in facts
    )


def delete_fact(connection: sqlite3.Connection, user: UserRef, no: int, etag: str, now: datetime) -> Fact:
    """Remove a fact's content for good; deleting it again changes nothing."""
    fact = find(connection, user, no) if abs(no) <= MAX_NUMBER else None
    if fact is None:
        raise NotFound("no such fact")
    if etag and etag != fact_etag(fact):
        raise EtagMismatch(fact_etag(fact))
    if fact.state is FactState.DELETED:
        return fact
    connection.execute(_DELETE, (to_micros(now), user.tenant_id, user.user_id, no))
    _show_latest_retired(connection, fact)
    _advance_epoch(connection, user)
    return replace(fact, state=FactState.DELETED, value="", source="", source_turn="", invalidation_reason="")


def _advance_epoch(connection: sqlite3.Connection, user: UserRef) -> None:
    counters = read_counters(connection, user)
    counters.fact_epoch += 1
    write_counters(connection, user, counters)
