"""The audit ledger on SQLite: append-only, each tenant's records chained by hash."""

from typing import Final

from storage.encryption.key_ring import KeyRing
from storage.encryption.user_cipher import UserCipher, writing_cipher
from storage.errors import AlreadyExists
from storage.ledger import FIRST_SEQUENCE, GENESIS, seal
from storage.ports import Seal, TraceDraft
from storage.sql.columns import to_micros
from storage.sql.engine import Connection, Database, Scope, Value
from storage.sql.receipts import RequestKey, claim_for
from storage.sql.retention import Retention
from storage.sql.trace_reads import ANSWERED, SqlTraceReads, answered_key, seal_trace
from storage.sql.trace_rows import COLUMNS
from storage.sql.turn_rows import add_turn

_METHOD: Final = "AssembleContext"
"""What leaves traces, as the name of the method in the keys of request ids."""

_INSERT = f"""INSERT INTO traces (tenant_id, {COLUMNS}, body_sha256) VALUES ({", ".join("?" * 13)})
    ON CONFLICT (tenant_id, trace_id) DO NOTHING"""
_HEAD = "SELECT sequence, record_hash FROM traces WHERE tenant_id = ? ORDER BY sequence DESC LIMIT 1"


class ChainHeads:
    """Where each tenant's chain ends, in memory. Only the writer uses it, within its transactions.

    What was learned in a transaction that came to nothing is void: `forget` is called then.
    """

    def __init__(self) -> None:
        self._heads: dict[str, tuple[int, bytes]] = {}

    def next_seal(self, connection: Connection, tenant_id: str, record: bytes) -> Seal:
        """The seal of the tenant's next record."""
        head = self._heads.get(tenant_id)
        if head is None:
            row = connection.execute(_HEAD, (tenant_id,)).fetchone()
            head = (FIRST_SEQUENCE - 1, GENESIS) if row is None else (row[0], row[1])
        sequence, previous_hash = head
        return seal(previous_hash, sequence + 1, record)

    def advance(self, tenant_id: str, new: Seal) -> None:
        """The record with this seal is stored."""
        self._heads[tenant_id] = new.sequence, new.record_hash

    def forget(self) -> None:
        """Look everything up anew."""
        self._heads.clear()


class SqliteTraces(SqlTraceReads):
    """The port `TraceStore`."""

    def __init__(self, database: Database, keys: KeyRing, heads: ChainHeads, retention: Retention) -> None:
        super().__init__(database, keys)
        self._heads, self._retention = heads, retention

    async def append(self, draft: TraceDraft) -> Seal:
        """Append trace and turn."""
        tenant_id = draft.session.tenant_id
        cipher = await writing_cipher(self._keys, draft.session.user)
        content = seal_trace(cipher, draft)
        new = await self._database.write(
            Scope(tenant_id, None), lambda connection: self._append(connection, cipher, draft, content)
        )
        self._retention.wrote(tenant_id, draft.create_time)
        return new

    def _append(self, connection: Connection, cipher: UserCipher, draft: TraceDraft, content: bytes) -> Seal:
        session, created = draft.session, to_micros(draft.create_time)
        if draft.request_id:
            key = RequestKey(session.tenant_id, _METHOD, draft.request_id)
            claim_for(connection, cipher, key, draft.body_sha256, draft.create_time)
        if connection.execute(ANSWERED, answered_key(session, draft.turn_id, created)).fetchone():
            raise AlreadyExists("turn_id")
        if draft.turn is not None:
            add_turn(connection, cipher, session, draft.turn, draft.create_time, draft.turn_expire_time)
        new = self._heads.next_seal(connection, session.tenant_id, draft.record)
        row = (session.tenant_id, *_columns(cipher, draft, created, new, content))
        if not connection.execute(_INSERT, row).rowcount:
            raise AlreadyExists("trace_id")
        self._heads.advance(session.tenant_id, new)
        return new


def _columns(
    cipher: UserCipher, draft: TraceDraft, created: int, new: Seal, content: bytes
) -> tuple[Value, ...]:
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
        content,
        cipher.fingerprint(draft.body_sha256),
    )
