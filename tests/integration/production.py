"""Gateways as processes over one Postgres and one Redis, for tests of what they share."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.cli.started import STARTED
from gateway.client.client import Client, connect
from storage.encryption import create_key_file

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0
STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Servers:
    """What a gateway is told to use. `folder` is below which each gateway has its own."""

    database_url: str
    redis_url: str
    folder: Path

    @property
    def key_file(self) -> Path:
        """The master keys of all gateways."""
        path = self.folder / "master.key"
        if not path.exists():
            create_key_file(path)
        return path

    def variables(self, name: str) -> dict[str, str]:
        """The environment of the gateway of that name."""
        return {
            "MUNIMENT_DATABASE_URL": self.database_url,
            "MUNIMENT_REDIS_URL": self.redis_url,
            "MUNIMENT_MASTER_KEY_FILE": str(self.key_file),
            "MUNIMENT_DATA_DIR": str(self.folder / name),
            "MUNIMENT_SPOOL_MEBIBYTES": "1",
        }


def surroundings(variables: Mapping[str, str]) -> dict[str, str]:
    """Our environment with the packages of this tree, without settings of the machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")}
    return kept | {"PYTHONPATH": os.pathsep.join((str(ROOT / "proto"), str(ROOT)))} | dict(variables)


@contextmanager
def gateway_with(variables: Mapping[str, str], listen: str = "127.0.0.1:0") -> Iterator[Client]:
    """One gateway, drained at the end by SIGTERM."""
    command = [sys.executable, "-m", "gateway.cli", "serve", "--listen", listen]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT,
        env=surroundings(variables),
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            # Log lines come on the same stream.
            said = next((line for line in process.stdout if line.startswith(STARTED)), "")
            assert said, "the gateway did not start"
            with connect(said.removeprefix(STARTED).strip()) as client:
                assert client.wait_until_serving(START_SECONDS)
                yield client
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS) == 0


@contextmanager
def gateways(servers: Servers, count: int = 2) -> Iterator[list[Client]]:
    """Several gateways over the same servers."""
    with ExitStack() as running:
        yield [
            running.enter_context(gateway_with(servers.variables(f"gateway-{number}")))
            for number in range(count)
        ]
