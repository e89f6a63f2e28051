"""Production on one machine, for developers: Postgres and Valkey from wheels, and two gateways over them.

    python -m scripts.serve_prod_local [--data-dir FOLDER] [--listen PORT PORT]

What is stored stays in the folder. Ctrl-C stops everything.
"""

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from gateway.client.client import connect
from scripts.servers import ports
from scripts.servers.errors import ServerError
from scripts.servers.postgres import Postgres, PostgresOptions
from scripts.servers.postgres_admin import APPLICATION, OWNER
from scripts.servers.process import ROOT, Command, ServerProcess
from scripts.servers.valkey import Valkey, ValkeyOptions
from storage.encryption.key_file import create_key_file

DATABASE = "muniment"
FIRST_PORTS = (7463, 7464)
READY_SECONDS = 0.2
LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Passwords:
    """Made once for a folder: whoever else is on the machine reaches its loopback too."""

    superuser: str
    roles: str
    valkey: str


@dataclass(frozen=True, slots=True)
class Urls:
    """Where the gateways find their servers, and the owner's way to the same database."""

    owner: str
    database: str
    redis: str


def main(arguments: Sequence[str]) -> int:
    """Run until Ctrl-C or SIGTERM, or until a part ends by itself, which is an error."""
    options = _parse(arguments)
    folder: Path = options.data_dir.resolve()
    told = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told.set())
    try:
        _require_free(options.listen)
        with _servers(folder) as urls, ExitStack() as running:
            gateways = {
                port: running.enter_context(_gateway(folder, number, port, urls))
                for number, port in enumerate(options.listen, 1)
            }
            for port, process in gateways.items():
                process.wait_until(partial(_serves, port))
            _tell(folder, list(gateways))
            return _watch(gateways, told)
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="serve_prod_local", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, default=Path("data/prod-local"))
    parser.add_argument("--listen", type=int, nargs="+", default=FIRST_PORTS, metavar="PORT")
    return parser.parse_args(arguments)


def _require_free(listen: Sequence[int]) -> None:
    for port in listen:
        if ports.answers(port):
            raise ServerError(
                f"something listens on {ports.HOST}:{port} already: stop it, or choose with --listen"
            )


@contextmanager
def _servers(folder: Path) -> Iterator[Urls]:
    """Postgres and Valkey over the folder, with the schema of this release and a master key file."""
    folder.mkdir(parents=True, exist_ok=True)
    passwords = _passwords(folder / "passwords.json")
    with (
        Postgres.start(folder / "postgres", PostgresOptions(password=passwords.superuser)) as postgres,
        Valkey.start(folder / "valkey", ValkeyOptions(password=passwords.valkey)) as valkey,
    ):
        urls = Urls(
            postgres.url(DATABASE, OWNER, passwords.roles),
            postgres.url(DATABASE, APPLICATION, passwords.roles),
            valkey.url(),
        )
        postgres.admin.create_roles(passwords.roles)
        if not postgres.admin.has_database(DATABASE):
            postgres.admin.create_database(DATABASE)
        _migrate(urls.owner)
        if not _key_file(folder).exists():
            create_key_file(_key_file(folder))
        yield urls


def _passwords(file: Path) -> Passwords:
    if file.exists():
        return Passwords(**json.loads(file.read_text()))
    made = Passwords(*(secrets.token_urlsafe(24) for _ in range(3)))
    file.touch(mode=0o600)
    file.write_text(json.dumps(asdict(made), indent=2) + "\n")
    return made


def _migrate(owner_url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gateway.cli", "migrate", "up"],
        env=_environment({"MUNIMENT_DATABASE_URL": owner_url}),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ServerError(f"the migration failed: {done.stderr.strip()}")


@contextmanager
def _gateway(folder: Path, number: int, port: int, urls: Urls) -> Iterator[ServerProcess]:
    """A gateway that takes calls; URLs go by the environment, since others can read a command line."""
    if ports.answers(port):
        raise ServerError(
            f"something listens on {ports.HOST}:{port} already: stop it, or choose with --listen"
        )
    command = Command(
        [
            sys.executable, "-m", "gateway.cli", "serve", "--listen", f"{ports.HOST}:{port}",
            "--data-dir", folder / f"gateway-{number}", "--master-key-file", _key_file(folder),
        ],
        folder / f"gateway-{number}.log",
        signal.SIGTERM,
        environment=_environment({"MUNIMENT_DATABASE_URL": urls.database, "MUNIMENT_REDIS_URL": urls.redis}),
    )  # fmt: skip
    process = ServerProcess.start(command)
    try:
        yield process
    finally:
        process.stop()


def _serves(port: int) -> bool:
    with connect(f"{ports.HOST}:{port}") as client:
        return client.wait_until_serving(READY_SECONDS)


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """Ours, so that further settings reach the gateways, with the given ones over them."""
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join((str(ROOT / "proto"), str(ROOT)))} | dict(given)


def _key_file(folder: Path) -> Path:
    return folder / "master.key"


def _tell(folder: Path, listening: list[int]) -> None:
    muniment = Path(sys.executable).parent / "muniment"
    first, last = (f"{ports.HOST}:{port}" for port in (listening[0], listening[-1]))
    print(
        f"{len(listening)} gateways serve one Postgres and one Valkey: "
        + ", ".join(f"{ports.HOST}:{port}" for port in listening),
        "Ask one of them, and another what it knows of it:",
        f'  {muniment} assemble "What is due?" -t acme -u dana -s monday --address {first}',
        f"  {muniment} trace show last -t acme -u dana --address {last}",
        f"Data, logs, passwords and the master key are in {folder}. Ctrl-C stops everything.",
        sep="\n",
        flush=True,
    )


def _watch(gateways: Mapping[int, ServerProcess], told: threading.Event) -> int:
    while not told.wait(LOOK_SECONDS):
        for port, process in gateways.items():
            if not process.running:
                raise ServerError(f"the gateway on port {port} ended:\n{process.last_lines()}")
    print("stopping ...", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
