"""Everything that a run needs: Postgres and Redis from wheels, a proxy before each, and gateways over the proxies."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from benchmarks.faults.gateways import Gateway, GatewayFailed, GatewayOptions
from benchmarks.faults.launching import ROOT, Launcher, environment
from benchmarks.faults.proxy import Address
from benchmarks.faults.proxy_process import Proxies, running_proxies
from benchmarks.faults.small_disk import SmallDisk, small_disk
from scripts.servers import ports
from scripts.servers.postgres import Postgres, PostgresOptions
from scripts.servers.postgres_admin import APPLICATION, OWNER, server_url
from scripts.servers.valkey import Valkey, ValkeyOptions
from storage.encryption.key_file import create_key_file

SQL: Final = "sql"
REDIS: Final = "redis"
_MIGRATE: Final = "import sys; from storage.postgres.migrating import upgrade; upgrade(sys.argv[1])"
_DATABASE: Final = "muniment"
_SMALL_SQL_MIB: Final = 384
_SMALL_REDIS_MIB: Final = 48
# Enough room for what a paused database makes the gateways spool within one run.
_SPOOL_MIB: Final = "256"


@dataclass(frozen=True, slots=True)
class StackOptions:
    """`small_disks`: the database and Redis lie on small disks of their own, which can be filled."""

    gateways: int = 2
    small_disks: bool = False


@dataclass(frozen=True, slots=True)
class Disks:
    """The small disks of the database's tables and of Redis."""

    sql: SmallDisk
    redis: SmallDisk


@dataclass(frozen=True, slots=True)
class Stack:
    """The running servers. `settings` are a gateway's, but for its data folder."""

    folder: Path
    postgres: Postgres
    redis: Valkey
    proxies: Proxies
    disks: Disks | None
    options: StackOptions
    settings: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def gateways(self, program: Sequence[str], launcher: Launcher) -> Iterator[tuple[Gateway, ...]]:
        """Gateways for the time of a `with`, each with a folder of its own for its spool."""
        made = tuple(
            self._gateway(number, GatewayOptions(program, self.settings, launcher))
            for number in range(self.options.gateways)
        )
        try:
            for gateway in made:
                gateway.start()
            yield made
        finally:
            for gateway in made:
                if gateway.running:
                    gateway.stop()

    def _gateway(self, number: int, options: GatewayOptions) -> Gateway:
        folder = self.folder / f"gateway-{number}"
        settings = {**options.settings, "MUNIMENT_DATA_DIR": str(folder)}
        return Gateway(replace(options, settings=settings), self.folder / f"gateway-{number}.log")


@contextmanager
def running_stack(folder: Path, options: StackOptions) -> Iterator[Stack]:
    """The servers over an empty folder. Raises `ServerError`, `NoSmallDisk`, `GatewayFailed`."""
    with ExitStack() as stack:
        disks = stack.enter_context(_disks(folder)) if options.small_disks else None
        postgres = stack.enter_context(Postgres.start(folder / "postgres", PostgresOptions()))
        redis_folder = folder / "redis" if disks is None else disks.redis.folder / "redis"
        redis = stack.enter_context(Valkey.start(redis_folder, ValkeyOptions(append_only=True)))
        _set_up(postgres, disks)
        key_file = folder / "master.key"
        create_key_file(key_file)
        upstreams = {SQL: Address(ports.HOST, postgres.port), REDIS: Address(ports.HOST, redis.port)}
        proxies = stack.enter_context(running_proxies(upstreams))
        settings = _settings(proxies, key_file)
        yield Stack(folder, postgres, redis, proxies, disks, options, settings)


@contextmanager
def _disks(folder: Path) -> Iterator[Disks]:
    with (
        small_disk(folder / "sql-disk", _SMALL_SQL_MIB) as sql,
        small_disk(folder / "redis-disk", _SMALL_REDIS_MIB) as redis,
    ):
        yield Disks(sql, redis)


def _set_up(postgres: Postgres, disks: Disks | None) -> None:
    """Roles, the database, its schema. On a small disk lie the tables only: where the log cannot be written, Postgres
    stops by itself, and a full disk would be a dead server."""
    admin = postgres.admin
    admin.create_roles()
    admin.create_database(_DATABASE)
    if disks is not None:
        tables = disks.sql.folder / "tables"
        tables.mkdir(mode=0o700)
        admin.execute(f"CREATE TABLESPACE small LOCATION '{tables}'")
        admin.execute(f"ALTER DATABASE {_DATABASE} SET TABLESPACE small")
    migrate(postgres.url(_DATABASE, OWNER))


def migrate(owner_url: str) -> None:
    """Bring the schema up, as its owner. Raises `GatewayFailed`."""
    done = subprocess.run(
        [sys.executable, "-c", _MIGRATE, owner_url],
        env=environment({}),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise GatewayFailed(f"the migration failed:\n{done.stderr.strip()}")


def _settings(proxies: Proxies, key_file: Path) -> dict[str, str]:
    return {
        "MUNIMENT_DATABASE_URL": server_url(ports.HOST, proxies.port(SQL), _DATABASE, APPLICATION, None),
        "MUNIMENT_REDIS_URL": f"redis://{ports.HOST}:{proxies.port(REDIS)}/0",
        "MUNIMENT_MASTER_KEY_FILE": str(key_file),
        "MUNIMENT_SPOOL_MEBIBYTES": _SPOOL_MIB,
        "MUNIMENT_LOG_LEVEL": "warning",
    }
