"""The audit ledger on SQLite: append-only, each tenant's records chained by hash."""

import sqlite3
from datetime import datetime, timedelta
from typing import Final

from assemblers.records import SessionRef
from storage.cursors import decode_number, encode_position
from storage.errors import AlreadyExists, NotFound
from storage.ledger import FIRST_SEQUENCE, GENESIS, seal
from storage.ports import AnsweredTurn, Page, PageRequest, Seal, StoredTrace, TraceDraft, TraceSelector
from storage.sql.columns import MAX_NUMBER, to_micros
from storage.sqlite.database import Database
from storage.sqlite.receipts import claim
from storage.sqlite.retention import Retention
from storage.sqlite.trace_rows import COLUMNS, conditions, reader_of
from storage.sqlite.turn_rows import add_turn

ANSWER_KEPT: Final = timedelta(hours=24)
"""How long a turn that is sent again gets its first answer."""
_METHOD: Final = "AssembleContext"
"""What leaves traces, as the name of the method in the keys of request ids."""
_ANSWER_KEPT_MICROS: Final = ANSWER_KEPT // timedelta(microseconds=1)

# At most one trace of a turn is younger than a day: `append` sees to it, within the transaction that adds one.
_ANSWERED = """SELECT trace_id, body_sha256 FROM traces
    WHERE tenant_id = ? AND user_id = ? AND session_id = ? AND turn_id = ? AND create_time > ?"""
_INSERT = f"INSERT INTO traces (tenant_id, {COLUMNS}, body_sha256) VALUES ({', '.join('?' * 13)})"
_HEAD = "SELECT sequence, record_hash FROM traces WHERE tenant_id = ? ORDER BY sequence DESC LIMIT 1"
_GET = f"SELECT {COLUMNS} FROM traces WHERE tenant_id = ? AND trace_id = ?"
_LATEST = f"""SELECT {COLUMNS} FROM traces WHERE tenant_id = ? AND user_id = ? AND session_id = ?
    ORDER BY sequence DESC LIMIT 1"""
_CHAIN = f"SELECT {COLUMNS} FROM traces WHERE tenant_id = ? AND sequence > ? ORDER BY sequence LIMIT ?"


class ChainHeads:
    """Where each tenant's chain ends, in memory. Only the writer uses it, within its transactions.

    What was learned in a transaction that came to nothing is void: `forget` is called then.
    """

    def __init__(self) -> None:
        self._heads: dict[str, tuple[int, bytes]] = {}

    def next_seal(self, connection: sqlite3.Connection, tenant_id: str, record: bytes) -> Seal:
        """The seal of the tenant's next record."""
        head = self._heads.get(tenant_id)
        if head is None:
            head = connection.execute(_HEAD, (tenant_id,)).fetchone() or (FIRST_SEQUENCE - 1, GENESIS)
        sequence, previous_hash = head
        return seal(previous_hash, sequence + 1, record)

    def advance(self, tenant_id: str, new: Seal) -> None:
        """The record with this seal is stored."""
        self._heads[tenant_id] = new.sequence, new.record_hash

    def forget(self) -> None:
        """Look everything up anew."""
        self._heads.clear()


class SqliteTraces:
    """The port `TraceStore`."""

    def __init__(self, database: Database, heads: ChainHeads, retention: Retention) -> None:
        self._database, self._heads, self._retention = database, heads, retention

    async def answered(self, session: SessionRef, turn_id: str, now: datetime) -> AnsweredTurn | None:
        """Whether the turn was answered."""
        row = self._database.row(_ANSWERED, _answered_key(session, turn_id, to_micros(now)))
        return None if row is None else AnsweredTurn(*row)

    async def append(self, draft: TraceDraft) -> Seal:
        """Append trace and turn."""
        return await self._database.write(lambda connection: self._append(connection, draft))

    def _append(self, connection: sqlite3.Connection, draft: TraceDraft) -> Seal:
        session, created = draft.session, to_micros(draft.create_time)
        self._retention.sweep(connection, created)
        if draft.request_id:
            key = (session.tenant_id, _METHOD, draft.request_id)
            claim(connection, key, draft.body_sha256, session.user, draft.create_time)
        if connection.execute(_ANSWERED, _answered_key(session, draft.turn_id, created)).fetchone():
            raise AlreadyExists("turn_id")
        if draft.turn is not None:
            add_turn(connection, session, draft.turn, draft.create_time, draft.turn_expire_time)
        new = self._heads.next_seal(connection, session.tenant_id, draft.record)
        try:
            connection.execute(_INSERT, (session.tenant_id, *_columns(draft, created, new)))
        except sqlite3.IntegrityError:
            raise AlreadyExists("trace_id") from None
        self._heads.advance(session.tenant_id, new)
        return new

    async def get(self, tenant_id: str, trace_id: str) -> StoredTrace:
        """The trace of an id."""
        row = self._database.row(_GET, (tenant_id, trace_id))
        if row is None:
            raise NotFound("no such trace")
        return reader_of(tenant_id)(*row)

    async def latest(self, session: SessionRef) -> StoredTrace | None:
        """The session's newest trace."""
        row = self._database.row(_LATEST, (session.tenant_id, session.user_id, session.session_id))
        return None if row is None else reader_of(session.tenant_id)(*row)

    async def list(self, tenant_id: str, selector: TraceSelector, page: PageRequest) -> Page[StoredTrace]:
        """The selected traces, newest first."""
        where, arguments = conditions(tenant_id, selector)
        statement = (
            f"SELECT {COLUMNS} FROM traces WHERE {where} AND sequence < ? ORDER BY sequence DESC LIMIT ?"
        )
        parameters = [*arguments, decode_number(page.cursor, MAX_NUMBER), page.size + 1]
        async with self._database.snapshot() as snapshot:
            traces = await snapshot.rows(statement, parameters, reader_of(tenant_id))
        items = tuple(traces[: page.size])
        return Page(items, encode_position(items[-1].seal.sequence) if len(traces) > page.size else "")

    async def chain(self, tenant_id: str, after_sequence: int, limit: int) -> tuple[StoredTrace, ...]:
        """Records in chain order."""
        async with self._database.snapshot() as snapshot:
            return tuple(
                await snapshot.rows(_CHAIN, (tenant_id, after_sequence, limit), reader_of(tenant_id))
            )


def _columns(draft: TraceDraft, created: int, new: Seal) -> tuple[str | int | bytes, ...]:
    session = draft.session
    return (
        new.sequence,
        draft.trace_id,
        session.user_id,
        session.session_id,
        draft.turn_id,
        draft.policy,
        created,
        new.previous_hash,
        new.record_hash,
        draft.record,
        draft.content,
        draft.body_sha256,
    )


def _answered_key(session: SessionRef, turn_id: str, now: int) -> tuple[str, str, str, str, int]:
    since = now - _ANSWER_KEPT_MICROS
    return session.tenant_id, session.user_id, session.session_id, turn_id, since
