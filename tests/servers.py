"""Fixtures with real servers, from wheels unless `MUNIMENT_TEST_PG_URL` or `MUNIMENT_TEST_REDIS_URL` name some.

Each worker has servers of its own, started when the first test asks: a test that pauses one disturbs nobody. Between
tests databases are emptied. Durability is not their subject (`fsync` is off); tests of it start theirs with
`scripts.servers`.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from redis import Redis

from scripts.servers import binaries
from scripts.servers.cluster import Cluster
from scripts.servers.postgres_admin import APPLICATION, OWNER, PostgresAdmin
from scripts.servers.temporary import (
    given_postgres,
    given_redis,
    temporary_cluster,
    temporary_postgres,
    temporary_valkey,
)
from scripts.servers.valkey import Flavour, ValkeyOptions

ROOT = Path(__file__).resolve().parents[1]
PASSWORD = "of-tests-only"
DATABASES = 16

_MIGRATE = "import sys; from storage.postgres.migrating import upgrade; upgrade(sys.argv[1])"

# Rows and not tables: hundreds of partitions take a second to truncate. As a superuser without triggers, since neither
# row-level security nor what keeps rows from being changed is meant for this.
_EMPTY = """
SET session_replication_role = replica;
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT format('%I.%I', n.nspname, c.relname)
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND c.relname <> 'alembic_version'
    LOOP EXECUTE 'DELETE FROM ' || name; END LOOP;
END $$;
"""


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """A database, and the URLs of those who use it. The owner migrates; the application is what the gateway is."""

    name: str
    url: str
    owner_url: str
    superuser_url: str
    admin: PostgresAdmin

    @classmethod
    def of(cls, admin: PostgresAdmin, name: str) -> "PostgresDatabase":
        """The URLs of a database of that name."""
        return cls(
            name,
            admin.url_of(name, APPLICATION, PASSWORD),
            admin.url_of(name, OWNER, PASSWORD),
            admin.url_of(name),
            admin,
        )

    def migrate(self) -> None:
        """Bring the schema up to this release, in a process of its own: a loop may run in this one."""
        command = [sys.executable, "-c", _MIGRATE, self.owner_url]
        environment = dict(os.environ) | {"PYTHONPATH": os.pathsep.join((str(ROOT / "proto"), str(ROOT)))}
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
        assert done.returncode == 0, done.stderr

    def empty(self) -> None:
        """Remove all rows; the schema stays."""
        self.admin.execute(_EMPTY, self.name)

    def execute(self, sql: str) -> str:
        """Run statements as the superuser, whom row-level security does not bind."""
        return self.admin.execute(sql, self.name)


@pytest.fixture(scope="session")
def postgres_admin() -> Iterator[PostgresAdmin]:
    """The worker's server, with the roles."""
    given = given_postgres()
    if given is not None:
        admin = PostgresAdmin(given)
        admin.create_roles(PASSWORD)
        yield admin
        return
    with temporary_postgres() as server:
        server.admin.create_roles(PASSWORD)
        yield server.admin


@pytest.fixture(scope="session")
def migrated_postgres(postgres_admin: PostgresAdmin, worker_id: str) -> Iterator[PostgresDatabase]:
    """The worker's database with the schema of this release; rows of earlier tests may be in it."""
    with database(postgres_admin, f"muniment_test_{worker_id}") as made:
        made.migrate()
        yield made


@pytest.fixture
def postgres(migrated_postgres: PostgresDatabase) -> PostgresDatabase:
    """The worker's database, migrated and without rows."""
    migrated_postgres.empty()
    return migrated_postgres


@pytest.fixture
def bare_postgres(postgres_admin: PostgresAdmin, worker_id: str) -> Iterator[PostgresDatabase]:
    """A database of the test's own, without a schema."""
    with database(postgres_admin, f"muniment_bare_{worker_id}") as made:
        yield made


@pytest.fixture
def postgres_url(postgres: PostgresDatabase) -> str:
    """Of the application's role, whom row-level security binds."""
    return postgres.url


@pytest.fixture
def postgres_owner_url(postgres: PostgresDatabase) -> str:
    """Of the owner of the schema."""
    return postgres.owner_url


@contextmanager
def database(admin: PostgresAdmin, name: str) -> Iterator[PostgresDatabase]:
    """A new database, dropped at the end; the name has our process in it, since a given server has other runs too."""
    name = f"{name}_{os.getpid()}"
    admin.create_database(name)
    try:
        yield PostgresDatabase.of(admin, name)
    finally:
        admin.drop_database(name)


def local_flavours() -> list[str]:
    """Valkey, and the Redis of this machine where there is one."""
    return [Flavour.VALKEY] if binaries.redis_server() is None else [Flavour.VALKEY, Flavour.REDIS]


def redis_flavours() -> list[str]:
    """What the suites run on: the given server alone, else what can be started here."""
    return local_flavours() if given_redis() is None else ["given"]


@pytest.fixture(scope="session", params=redis_flavours())
def redis_server_url(request: pytest.FixtureRequest, worker_id: str) -> Iterator[str]:
    """The worker's server, or its database on the given one; entries of earlier tests may be in it."""
    given = given_redis()
    if given is not None:
        number = 0 if worker_id == "master" else int(worker_id.removeprefix("gw")) % DATABASES
        yield urlunsplit(urlsplit(given)._replace(path=f"/{number}"))
        return
    with temporary_valkey(ValkeyOptions(password=PASSWORD, flavour=Flavour(request.param))) as server:
        yield server.url()


@pytest.fixture
def redis_url(redis_server_url: str) -> str:
    """A Valkey (and a Redis, where one is installed) without entries."""
    with Redis.from_url(redis_server_url) as client:
        client.flushdb()
    return redis_server_url


@pytest.fixture(scope="session", params=local_flavours())
def redis_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The worker's cluster of three nodes; entries of earlier tests may be in it."""
    with temporary_cluster(PASSWORD, Flavour(request.param)) as cluster:
        yield cluster


@pytest.fixture
def redis_cluster_url(redis_cluster: Cluster) -> str:
    """A node of a cluster of three without entries."""
    redis_cluster.flush()
    return redis_cluster.url
