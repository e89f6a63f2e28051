"""An engine on the worker's database, in the role of a gateway."""

from collections.abc import AsyncIterator

import pytest

from storage.postgres.address import parse_address
from storage.postgres.connections import Connections
from storage.postgres.database import PostgresDatabase, Timeouts

SIZE = 4


@pytest.fixture
async def connections(postgres_url: str) -> AsyncIterator[Connections]:
    opened = Connections(parse_address(postgres_url), SIZE)
    yield opened
    await opened.close()


@pytest.fixture
async def database(connections: Connections) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(connections, Timeouts())
    yield opened
    await opened.close()
