"""Reading the audit ledger in SQL. How records get there is the matter of each engine."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from assemblers.records import SessionRef, UserRef
from storage.cursors import decode_number, encode_position
from storage.encryption.key_ring import KeyRing
from storage.encryption.places import TRACE_CONTENT
from storage.encryption.user_cipher import UserCipher, reading_cipher
from storage.errors import NotFound, StorageDamaged
from storage.ports import AnsweredTurn, Page, PageRequest, StoredTrace, TraceDraft, TraceSelector
from storage.sql.columns import MAX_NUMBER, to_micros
from storage.sql.engine import Database
from storage.sql.trace_rows import COLUMNS, conditions, reader_of

ANSWER_KEPT: Final = timedelta(hours=24)
"""How long a turn that is sent again gets its first answer."""
_ANSWER_KEPT_MICROS: Final = ANSWER_KEPT // timedelta(microseconds=1)

# At most one trace of a turn is younger than a day: appending sees to it, within the transaction that adds one.
ANSWERED: Final = """SELECT trace_id, body_sha256 FROM traces
    WHERE tenant_id = ? AND user_id = ? AND session_id = ? AND turn_id = ? AND create_time > ?"""
_GET = f"SELECT {COLUMNS} FROM traces WHERE tenant_id = ? AND trace_id = ?"
_LATEST = f"""SELECT {COLUMNS} FROM traces WHERE tenant_id = ? AND user_id = ? AND session_id = ?
    ORDER BY sequence DESC LIMIT 1"""
_CHAIN = f"SELECT {COLUMNS} FROM traces WHERE tenant_id = ? AND sequence > ? ORDER BY sequence LIMIT ?"


class SqlTraceReads:
    """The reading half of the port `TraceStore`."""

    def __init__(self, database: Database, keys: KeyRing) -> None:
        self._database, self._keys = database, keys

    async def answered(self, session: SessionRef, turn_id: str, now: datetime) -> AnsweredTurn | None:
        """Whether the turn was answered."""
        key = answered_key(session, turn_id, to_micros(now))
        row = await self._database.row(session.tenant_id, ANSWERED, key)
        if row is None:
            return None
        trace_id, fingerprint = row
        cipher = await self._cipher_of(session.user)
        return AnsweredTurn(trace_id, lambda body_sha256: cipher.fingerprint(body_sha256) == fingerprint)

    async def get(self, tenant_id: str, trace_id: str) -> StoredTrace:
        """The trace of an id."""
        row = await self._database.row(tenant_id, _GET, (tenant_id, trace_id))
        if row is None:
            raise NotFound("no such trace")
        return await self._opened(reader_of(tenant_id)(*row))

    async def latest(self, session: SessionRef) -> StoredTrace | None:
        """The session's newest trace."""
        key = (session.tenant_id, session.user_id, session.session_id)
        row = await self._database.row(session.tenant_id, _LATEST, key)
        return None if row is None else await self._opened(reader_of(session.tenant_id)(*row))

    async def list(self, tenant_id: str, selector: TraceSelector, page: PageRequest) -> Page[StoredTrace]:
        """The selected traces, newest first."""
        where, arguments = conditions(tenant_id, selector)
        statement = (
            f"SELECT {COLUMNS} FROM traces WHERE {where} AND sequence < ? ORDER BY sequence DESC LIMIT ?"
        )
        parameters = [*arguments, decode_number(page.cursor, MAX_NUMBER), page.size + 1]
        async with self._database.snapshot(tenant_id) as snapshot:
            traces = await snapshot.rows(statement, parameters, reader_of(tenant_id))
        items = tuple([await self._opened(trace) for trace in traces[: page.size]])
        return Page(items, encode_position(items[-1].seal.sequence) if len(traces) > page.size else "")

    async def chain(self, tenant_id: str, after_sequence: int, limit: int) -> tuple[StoredTrace, ...]:
        """Records in chain order."""
        async with self._database.snapshot(tenant_id) as snapshot:
            parameters = (tenant_id, after_sequence, limit)
            traces = await snapshot.rows(_CHAIN, parameters, reader_of(tenant_id))
        return tuple([await self._opened(trace) for trace in traces])

    async def _opened(self, trace: StoredTrace) -> StoredTrace:
        """A trace as it was stored, with its content opened."""
        if trace.content is None:
            return trace
        cipher = await self._cipher_of(trace.session.user)
        return replace(trace, content=cipher.open(TRACE_CONTENT, trace.content, trace.trace_id))

    async def _cipher_of(self, user: UserRef) -> UserCipher:
        """For a user with a trace that was read already: its key was there before it."""
        cipher = await reading_cipher(self._keys, user)
        if cipher is None:
            raise StorageDamaged("a trace's user has no key")
        return cipher


def seal_trace(cipher: UserCipher, draft: TraceDraft) -> bytes:
    """A trace's content as it is stored."""
    return cipher.seal(TRACE_CONTENT, draft.content, draft.trace_id)


def answered_key(session: SessionRef, turn_id: str, now: int) -> tuple[str, str, str, str, int]:
    """The parameters of `ANSWERED` at an instant, in microseconds."""
    since = now - _ANSWER_KEPT_MICROS
    return session.tenant_id, session.user_id, session.session_id, turn_id, since
