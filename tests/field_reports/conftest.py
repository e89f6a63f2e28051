"""A gateway on fresh backends, each report once on both sets of them, with a policy that has every section."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gateway.config import Settings
from tests.backends import BACKENDS, MakeSettings
from tests.integration.in_process import Gateway, gateway_on
from tests.integration.talk import Person
from tests.servers import PostgresDatabase

CountRows = Callable[[], dict[str, int]]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Which set of backends."""
    return str(request.param)


@pytest.fixture
def settings(backend: str, settings_of: MakeSettings) -> Settings:
    """What a gateway on it is told."""
    return settings_of(backend)


@pytest.fixture
async def gateway(settings: Settings) -> AsyncIterator[Gateway]:
    async with gateway_on(settings) as opened:
        await opened.use_desk()
        yield opened


@pytest.fixture
def ada(gateway: Gateway) -> Person:
    return Person(gateway)


@pytest.fixture
def count_rows(backend: str, settings: Settings, request: pytest.FixtureRequest) -> CountRows:
    """How many rows each table has."""
    if backend == "embedded":
        return lambda: _rows_in(settings.data_dir)
    database: PostgresDatabase = request.getfixturevalue("postgres")
    return lambda: _rows_of(database)


def _rows_in(data_dir: Path) -> dict[str, int]:
    (file,) = (path for path in data_dir.rglob("*") if path.suffix in {".db", ".sqlite", ".sqlite3"})
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        counts = {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}
    connection.close()
    return counts


def _rows_of(database: PostgresDatabase) -> dict[str, int]:
    named = database.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') "
        "AND NOT relispartition"
    )
    return {name: int(database.execute(f"SELECT count(*) FROM {name}")) for name in named.split()}
