"""A database, a file of master keys, clocks that stand still until they are moved."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from storage.encryption import FileKeyProvider, KeyRing, create_key_file
from tests.unit.storage.encryption.plain_database import PlainDatabase


@dataclass(slots=True)
class Clock:
    seconds: float = 1_000.0

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime(2026, 11, 30, tzinfo=UTC) + timedelta(seconds=self.seconds)

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database() -> Iterator[PlainDatabase]:
    opened = PlainDatabase()
    yield opened
    opened.connection.close()


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "master.key"
    create_key_file(path)
    return path


@pytest.fixture
def provider(key_file: Path) -> FileKeyProvider:
    return FileKeyProvider(key_file)


@pytest.fixture
def ring(database: PlainDatabase, provider: FileKeyProvider, clock: Clock) -> KeyRing:
    return KeyRing(database, provider, clock.monotonic, clock.now)
