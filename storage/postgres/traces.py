"""The audit ledger on Postgres: appended by one function, in one round trip, for all that wait of a tenant."""

from collections.abc import Sequence

import asyncpg

from storage.encryption.key_ring import KeyRing
from storage.encryption.user_cipher import writing_cipher
from storage.ports import Seal, TraceDraft
from storage.postgres.connections import Connections
from storage.postgres.database import PostgresDatabase, retried
from storage.postgres.group_commit import GroupCommit
from storage.postgres.trace_entries import APPEND, Entry, Outcome, entry_of, outcome_of, parameters
from storage.sql.retention import Retention
from storage.sql.trace_reads import SqlTraceReads


class PostgresTraces(SqlTraceReads):
    """The port `TraceStore`.

    A draft that is stored already, as it was given, gets its seal again: whoever did not learn what became of an append
    may repeat it.
    """

    def __init__(
        self,
        database: PostgresDatabase,
        keys: KeyRing,
        connections: Connections,
        seconds: float,
        retention: Retention,
    ) -> None:
        """`seconds`: how long an append may wait for its turn, and how long it may take then."""
        super().__init__(database, keys)
        self._connections, self._seconds, self._retention = connections, seconds, retention
        self._commits = GroupCommit(self._store, seconds)

    @property
    def waiting_writes(self) -> int:
        """How many appends wait or are on their way."""
        return self._commits.waiting

    async def append(self, draft: TraceDraft) -> Seal:
        """Append trace and turn."""
        cipher = await writing_cipher(self._keys, draft.session.user)
        seal = await self._commits.append(entry_of(draft, cipher))
        self._retention.wrote(draft.session.tenant_id, draft.create_time)
        return seal

    async def close(self) -> None:
        """Do what was accepted, and refuse what is new."""
        await self._commits.close()

    async def _store(self, tenant_id: str, batch: Sequence[Entry]) -> Sequence[Outcome]:
        columns = parameters(batch)

        async def call(driver: asyncpg.Connection) -> list[asyncpg.Record]:
            rows: list[asyncpg.Record] = await driver.fetch(APPEND, tenant_id, *columns)
            return rows

        rows = await retried(lambda: self._connections.use(self._seconds, call))
        return [outcome_of(entry, row) for entry, row in zip(batch, rows, strict=True)]
