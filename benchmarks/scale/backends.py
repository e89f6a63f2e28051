"""Postgres and Valkey from wheels, a database and a number in Redis for each population, and gateways over them."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.faults.launching import ROOT, environment
from benchmarks.faults.stack import migrate
from benchmarks.process import Ports, ServerFailed
from benchmarks.scale.loading import Target
from benchmarks.server import READY
from scripts.servers.postgres import Postgres, PostgresOptions
from scripts.servers.postgres_admin import APPLICATION, OWNER
from scripts.servers.valkey import Valkey, ValkeyOptions
from storage.encryption.key_file import create_key_file

_STOP_SECONDS: Final = 30.0
# Of a server with a gigabyte to spare; what is acknowledged is synced, as by default.
_SETTINGS: Final = {"shared_buffers": "512MB", "max_wal_size": "4GB"}


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running one, with the echo beside it."""

    ports: Ports
    pid: int


@dataclass(frozen=True, slots=True)
class Backends:
    """The running servers."""

    folder: Path
    postgres: Postgres
    redis: Valkey
    key_file: Path

    def target(self, database: str) -> Target:
        """Where to load a population."""
        return Target(self.postgres.url(database), self.key_file)

    def application_url(self, database: str) -> str:
        """As a gateway reaches it."""
        return self.postgres.url(database, APPLICATION)

    def make_database(self, database: str) -> None:
        """An empty one with the schema of this release."""
        self.postgres.admin.create_database(database)
        migrate(self.postgres.url(database, OWNER))

    def analyze(self, database: str) -> None:
        """Let the planner know what was loaded."""
        self.postgres.admin.execute("VACUUM ANALYZE", database)

    def settings(self, database: str, number: int) -> dict[str, str]:
        """A gateway's, for a population: `number` is that of its database in Redis."""
        return {
            "MUNIMENT_DATABASE_URL": self.application_url(database),
            "MUNIMENT_REDIS_URL": self.redis.url(number),
            "MUNIMENT_MASTER_KEY_FILE": str(self.key_file),
        }

    @contextmanager
    def gateway(
        self, name: str, settings: Mapping[str, str], port: int = 0, *, shared: bool = False
    ) -> Iterator[Gateway]:
        """One gateway for the time of a `with`; `shared`: others listen on the port too. Raises `ServerFailed`."""
        more = {"MUNIMENT_DATA_DIR": str(self.folder / name), "MUNIMENT_REUSE_PORT": str(shared)}
        command = [sys.executable, "-m", "benchmarks.scale.server", str(port)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment({**settings, **more})
        ) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                if not line.startswith(READY):
                    raise ServerFailed("a gateway did not start: its messages are above")
                yield Gateway(Ports(*map(int, line.removeprefix(READY).split())), process.pid)
            finally:
                process.terminate()
                try:
                    process.wait(_STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()


@contextmanager
def running_backends(folder: Path) -> Iterator[Backends]:
    """The servers over an empty folder. Raises `ServerError`."""
    with ExitStack() as stack:
        options = PostgresOptions(settings=_SETTINGS)
        postgres = stack.enter_context(Postgres.start(folder / "postgres", options))
        redis = stack.enter_context(Valkey.start(folder / "redis", ValkeyOptions()))
        postgres.admin.create_roles()
        key_file = folder / "master.key"
        create_key_file(key_file)
        yield Backends(folder, postgres, redis, key_file)
