"""An engine on the worker's database, in the role of a gateway."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from storage.encryption.file_provider import FileKeyProvider
from storage.encryption.key_file import create_key_file
from storage.postgres import PostgresStorage, open_postgres
from storage.postgres.address import parse_address
from storage.postgres.connections import Connections
from storage.postgres.database import PostgresDatabase, Timeouts

SIZE = 4

Opener = Callable[[str], Awaitable[PostgresStorage]]


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


@pytest.fixture
async def opener(tmp_path: Path) -> AsyncIterator[Opener]:
    """Opens storages with keys of the test's own, and closes them."""
    key_file = tmp_path / "master.key"
    create_key_file(key_file)
    opened: list[PostgresStorage] = []

    async def open_url(url: str) -> PostgresStorage:
        opened.append(await open_postgres(url, FileKeyProvider(key_file), pool_size=SIZE))
        return opened[-1]

    yield open_url
    for storage in opened:
        await storage.close()


@pytest.fixture
async def storage(opener: Opener, postgres_url: str) -> PostgresStorage:
    return await opener(postgres_url)
