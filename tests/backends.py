"""The two sets of backends that every feature runs on, as settings: a data folder, and Postgres with Redis."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis import Redis

from gateway.config import Settings
from scripts.servers.temporary import given_redis, temporary_valkey
from scripts.servers.valkey import ValkeyOptions
from storage.encryption import create_key_file
from tests.servers import PostgresDatabase

BACKENDS = ("embedded", "production")

MakeSettings = Callable[[str], Settings]


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    """One server of the worker's own, or the given one."""
    given = given_redis()
    if given is not None:
        yield given
        return
    with temporary_valkey(ValkeyOptions(password="of-tests-only")) as server:
        yield server.url()


@pytest.fixture
def settings_of(request: pytest.FixtureRequest, tmp_path: Path) -> MakeSettings:
    """Settings for a backend of that name, without anything in it. Servers are started for those who ask for them."""

    def make(backend: str) -> Settings:
        if backend == "embedded":
            return Settings(data_dir=tmp_path / "embedded")
        database: PostgresDatabase = request.getfixturevalue("postgres")
        redis: str = request.getfixturevalue("valkey_url")
        with Redis.from_url(redis) as client:
            client.flushdb()
        key_file = tmp_path / "master.key"
        create_key_file(key_file)
        return Settings(
            data_dir=tmp_path / "production",
            database_url=SecretStr(database.url),
            redis_url=SecretStr(redis),
            master_key_file=key_file,
            spool_mebibytes=1,
        )

    return make
