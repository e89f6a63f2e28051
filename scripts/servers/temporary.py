"""Servers for one run, in folders of their own that go with them: for tests and benchmarks."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.servers.cluster import Cluster
from scripts.servers.postgres import Postgres, PostgresOptions
from scripts.servers.valkey import Flavour, Valkey, ValkeyOptions

# Of servers that are there already; they are used as they are, and keep what is in them.
POSTGRES_VARIABLE = "MUNIMENT_TEST_PG_URL"
REDIS_VARIABLE = "MUNIMENT_TEST_REDIS_URL"

# Nothing of it outlives the run, so nothing is synced.
QUICK = PostgresOptions(fsync=False)


@contextmanager
def temporary_postgres(options: PostgresOptions = QUICK) -> Iterator[Postgres]:
    """A cluster of its own; pass `PostgresOptions()` where durability is the subject."""
    with _folder("postgres") as folder, Postgres.start(folder, options, scratch=folder) as server:
        yield server


@contextmanager
def temporary_valkey(options: ValkeyOptions | None = None) -> Iterator[Valkey]:
    """A server of its own."""
    with _folder("valkey") as folder, Valkey.start(folder, options, scratch=folder) as server:
        yield server


@contextmanager
def temporary_cluster(password: str | None = None, flavour: Flavour = Flavour.VALKEY) -> Iterator[Cluster]:
    """Three nodes of its own."""
    with (
        _folder("cluster") as folder,
        Cluster.start(folder, password=password, flavour=flavour, scratch=folder) as cluster,
    ):
        yield cluster


def given_postgres() -> str | None:
    """The URL of a superuser on a server that is to be used instead of the wheel's."""
    return os.environ.get(POSTGRES_VARIABLE) or None


def given_redis() -> str | None:
    """The URL of a server that is to be used instead of the wheel's; its database is flushed."""
    return os.environ.get(REDIS_VARIABLE) or None


@contextmanager
def _folder(what: str) -> Iterator[Path]:
    # Directly below the folder for temporary files: the path of a socket in it must be short, and whoever runs the
    # server must get there, which they do not in a folder that only the caller may enter.
    with tempfile.TemporaryDirectory(prefix=f"muniment-{what}-") as name:
        yield Path(name)
