"""Opening a Postgres as a `Storage`."""

import asyncio
import logging
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from storage.encryption.providers import KeyProvider
from storage.errors import StorageError
from storage.memory import MemorySessions
from storage.ports import (
    SessionCache,
    TraceStore,
)
from storage.ports.epochs import Announcer
from storage.postgres.address import parse_address
from storage.postgres.connections import Connections
from storage.postgres.database import PostgresDatabase, Timeouts
from storage.postgres.starting import check_start, make_partitions
from storage.postgres.traces import PostgresTraces
from storage.sql.epochs import Unannounced
from storage.sql.stores import SqlStores

POOL_SIZE: Final = 10
"""Connections of one gateway process, unless the caller says otherwise."""
_DAY_SECONDS: Final = 86_400.0
_log = logging.getLogger(__name__)


class PostgresStorage(SqlStores):
    """The port `Storage` on a Postgres. Also an async context manager, which closes it."""

    def __init__(
        self,
        connections: Connections,
        timeouts: Timeouts,
        sessions: SessionCache,
        announcer: Announcer,
        provider: KeyProvider,
    ) -> None:
        self._connections, self._closed = connections, False
        self.database = database = PostgresDatabase(connections, timeouts)
        super().__init__(database, announcer, provider)
        self._traces = PostgresTraces(database, self.keys, connections, timeouts.append, self._retention)
        self.traces: TraceStore = self._traces
        self.sessions = sessions
        self._upkeep = asyncio.ensure_future(self._make_partitions_daily())

    async def ready(self) -> bool:
        """Whether reads and writes work now."""
        return await self.database.ready()

    @property
    def waiting_writes(self) -> int:
        """How many traces wait to be appended."""
        return self._traces.waiting_writes

    @property
    def connections_in_use(self) -> int:
        """How many connections are in use now."""
        return self._connections.in_use

    async def close(self) -> None:
        """Finish what was accepted and let go of everything."""
        if self._closed:
            return
        self._closed = True
        self._upkeep.cancel()
        with suppress(asyncio.CancelledError):
            await self._upkeep
        await self._retention.close()
        await self._traces.close()
        await self.database.close()

    async def _make_partitions_daily(self) -> None:
        """From the start on. Nobody waits for it: there are parts for months, or else rows go to the default ones."""
        while True:
            try:
                await make_partitions(self._connections)
            except StorageError:
                _log.warning(
                    "the parts of the ledger for the coming months were not made; trying again in a day"
                )
            await asyncio.sleep(_DAY_SECONDS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()


async def open_postgres(
    url: str,
    provider: KeyProvider,
    sessions: SessionCache | None = None,
    announcer: Announcer | None = None,
    pool_size: int = POOL_SIZE,
    timeouts: Timeouts | None = None,
) -> PostgresStorage:
    """Open the database of a URL with the provider of its master keys and a session cache (default: in this process).

    `announcer` is told of each change; None: nobody else has to know. Waits for a migration that is under way. Raises
    `AddressError`, `RoleRefused`, `SchemaMismatch`, `MasterKeyMissing`, `MasterKeyWrong`, or `StorageUnavailable`.
    """
    connections = Connections(parse_address(url), pool_size)
    try:
        await check_start(connections)
    except BaseException:
        await connections.close()
        raise
    storage = PostgresStorage(
        connections,
        timeouts or Timeouts(),
        sessions or MemorySessions(),
        announcer or Unannounced(),
        provider,
    )
    try:
        await storage.keys.check()
    except BaseException:
        await storage.close()
        raise
    return storage
