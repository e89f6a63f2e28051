"""What writing does to facts, within the caller's transaction: supersede, refuse, invalidate, delete."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from assemblers.records import Fact, FactState, UserRef
from storage.encryption.places import FACT_CONTENT, FACT_SALT
from storage.encryption.user_cipher import UserCipher
from storage.errors import EtagMismatch, LimitExceeded, NotFound
from storage.etags import fact_etag
from storage.ledger import commitment, fact_content
from storage.ports import FactDraft, FactSelector, FactWritten
from storage.sql.columns import MAX_NUMBER, to_micros, value_to_content
from storage.sql.counters import advance_facts, read_counters, write_counters
from storage.sql.engine import Connection, Value
from storage.sql.fact_retiring import retire_facts
from storage.sql.fact_rows import COLUMNS, COUNT_CURRENT, conditions, fact_of, find, find_current
from storage.sql.writing import Done

MAX_CURRENT_FACTS: Final = 4_096
"""Current, unexpired facts of one user."""
SALT_BYTES: Final = 16

_INSERT = f"""INSERT INTO facts (tenant_id, user_id, salt, shown, {COLUMNS}) VALUES ({", ".join("?" * 25)})"""
_SUPERSEDE = """UPDATE facts SET state = 'SUPERSEDED', superseded_by = ?
    WHERE tenant_id = ? AND user_id = ? AND no = ?"""
# What could tell the content goes; number, key, times and commitment stay as the proof that it was there.
_DELETE = """UPDATE facts SET state = 'DELETED', content = NULL, salt = NULL, source = '', source_turn = '',
    invalidation_reason = '', delete_time = ?, shown = 0 WHERE tenant_id = ? AND user_id = ? AND no = ?"""

_OF_KEY = "tenant_id = ? AND user_id = ? AND subject_kind = ? AND subject_id = ? AND fact_key = ?"
_HIDE_RETIRED = f"UPDATE facts SET shown = 0 WHERE {_OF_KEY} AND shown = 1 AND state <> 'CURRENT'"
_SHOW_LATEST_RETIRED = f"""UPDATE facts SET shown = 1 WHERE tenant_id = ? AND user_id = ? AND no =
    (SELECT no FROM facts WHERE {_OF_KEY} AND state IN ('SUPERSEDED', 'INVALIDATED')
    ORDER BY read_time DESC, revision DESC LIMIT 1)"""


def record_facts(
    connection: Connection, cipher: UserCipher, drafts: Sequence[FactDraft], now: datetime
) -> Done[tuple[FactWritten, ...]]:
    """Store drafts in their order."""
    user = cipher.user
    counters = read_counters(connection, user)
    before = counters.fact_no
    written = []
    for draft in drafts:
        outcome = _record(connection, cipher, draft, now, counters.fact_no + 1)
        counters.fact_no += 0 if outcome.duplicate else 1
        written.append(outcome)
    if counters.fact_no == before:
        return Done(tuple(written))
    _refuse_too_many(connection, user, now)
    counters.fact_epoch += 1
    write_counters(connection, user, counters)
    return Done(tuple(written), counters.fact_epoch)


def _record(
    connection: Connection, cipher: UserCipher, draft: FactDraft, now: datetime, no: int
) -> FactWritten:
    current = find_current(connection, cipher, draft.subject, draft.key)
    if current is not None and _says_the_same(draft, current):
        return FactWritten(current, duplicate=True)
    user = cipher.user
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
    _insert(connection, cipher, fact, salt)
    if current is not None:
        _show_latest_retired(connection, fact)
    return FactWritten(fact, superseded)


def _insert(connection: Connection, cipher: UserCipher, fact: Fact, salt: bytes) -> None:
    shown = int(fact.state is FactState.CURRENT)
    # The salt as well: with it the commitments in traces could be tried for what they stand for.
    sealed_salt = cipher.seal(FACT_SALT, salt, str(fact.no))
    content = cipher.seal(FACT_CONTENT, value_to_content(fact.value), str(fact.no))
    owner = (fact.user.tenant_id, fact.user.user_id)
    connection.execute(_INSERT, (*owner, sealed_salt, shown, *_columns(fact), content))


def _show_latest_retired(connection: Connection, fact: Fact) -> None:
    """Something of this fact's (subject, key) was retired or deleted: show the latest of what is retired."""
    key = (fact.user.tenant_id, fact.user.user_id, fact.subject.kind, fact.subject.id, fact.key)
    connection.execute(_HIDE_RETIRED, key)
    connection.execute(_SHOW_LATEST_RETIRED, (*key[:2], *key))


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


def _columns(fact: Fact) -> tuple[Value, ...]:
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


def _refuse_too_many(connection: Connection, user: UserRef, now: datetime) -> None:
    owner = (user.tenant_id, user.user_id)
    ((count,),) = connection.execute(COUNT_CURRENT, (*owner, to_micros(now))).fetchall()
    if count > MAX_CURRENT_FACTS:
        raise LimitExceeded("current facts of a user", MAX_CURRENT_FACTS)


def invalidate_facts(
    connection: Connection, cipher: UserCipher, selector: FactSelector, reason: str, now: datetime
) -> Done[tuple[Fact, ...]]:
    """Invalidate the current facts that a selector names; gives them as they are afterwards."""
    user = cipher.user
    where, arguments = conditions(user, replace(selector, include_retired=False))
    rows = connection.execute(f"SELECT {COLUMNS} FROM facts WHERE {where} ORDER BY no", arguments).fetchall()
    facts = [fact_of(cipher, *row) for row in rows]
    retire_facts(connection, user, [fact.no for fact in facts], reason, now)
    after = tuple(
        replace(fact, state=FactState.INVALIDATED, invalidated_time=now, invalidation_reason=reason)
        for fact in facts
    )
    return Done(after, advance_facts(connection, user) if facts else None)


def delete_fact(connection: Connection, cipher: UserCipher, no: int, etag: str, now: datetime) -> Done[Fact]:
    """Remove a fact's content for good; deleting it again changes nothing."""
    user = cipher.user
    fact = find(connection, cipher, no) if abs(no) <= MAX_NUMBER else None
    if fact is None:
        raise NotFound("no such fact")
    if etag and etag != fact_etag(fact):
        raise EtagMismatch(fact_etag(fact))
    if fact.state is FactState.DELETED:
        return Done(fact)
    connection.execute(_DELETE, (to_micros(now), user.tenant_id, user.user_id, no))
    _show_latest_retired(connection, fact)
    after = replace(
        fact, state=FactState.DELETED, value="", source="", source_turn="", invalidation_reason=""
    )
    return Done(after, advance_facts(connection, user))
