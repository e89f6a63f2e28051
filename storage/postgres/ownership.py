"""The database as its owner has it, for what gateways may not do: going through all tenants, changing stored rows."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from storage.postgres.address import parse_address
from storage.postgres.connections import Connections
from storage.postgres.database import PostgresDatabase, Timeouts
from storage.postgres.starting import check_owner, check_revision

_CONNECTIONS: Final = 2
# Nobody waits for an answer here, and counting a user's rows reads all of them.
_TIMEOUTS: Final = Timeouts(read=25.0, load=25.0, write=25.0, heavy=25.0)


@asynccontextmanager
async def open_as_owner(url: str) -> AsyncIterator[PostgresDatabase]:
    """The database of the owner's URL. Raises `AddressError`, `RoleRefused`, `SchemaMismatch`, `StorageUnavailable`."""
    connections = Connections(parse_address(url), _CONNECTIONS)
    database = PostgresDatabase(connections, _TIMEOUTS)
    try:
        await check_revision(connections)
        await check_owner(connections)
        yield database
    finally:
        await database.close()
