"""The scripts of the deployment do what the containers rely on; they run here against servers from wheels."""

import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pydantic import SecretStr
from redis import Redis
from redis.exceptions import AuthenticationError

from gateway.config import Settings
from scripts.servers import binaries, ports
from scripts.servers.errors import ServerError
from scripts.servers.postgres import SUPERUSER, Postgres
from scripts.servers.postgres_admin import PostgresAdmin
from scripts.servers.process import Command, ServerProcess
from scripts.servers.temporary import temporary_postgres
from storage.encryption.key_file import read_key_file
from storage.postgres.address import parse_address
from storage.postgres.migrating import upgrade
from storage.sql.revision import REVISION
from tests.commands import COMPOSE

DEPLOY = COMPOSE.parent


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, env=dict(os.environ) | environment, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("deploy")
    done = run("sh", DEPLOY / "secrets.sh", made)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def secrets(folder: Path) -> Path:
    return folder / "secrets"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with temporary_postgres() as started:
        yield started


def bin_folder(tmp_path: Path, **programs: Path | str) -> str:
    """A PATH with these programs before the system's: links to binaries, or shell scripts."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, program in programs.items():
        file = folder / name.replace("_", "-")
        if isinstance(program, Path):
            file.symlink_to(program)
        else:
            file.write_text(f"#!/bin/sh\n{program}\n")
            file.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_every_secret_of_the_deployment_is_made(secrets: Path):
    declared = yaml.safe_load(COMPOSE.read_text("utf-8"))["secrets"].values()
    assert {Path(secret["file"]).name for secret in declared} == {file.name for file in secrets.iterdir()}


def test_the_master_key_is_one_that_the_gateway_takes(secrets: Path, tmp_path: Path):
    # A container's user is the owner of the secrets; here that may be somebody else than us.
    copy = tmp_path / "master.key"
    shutil.copyfile(secrets / "master.key", copy)
    copy.chmod(0o400)
    (key,) = read_key_file(copy)
    assert len(key.secret) == 32


def test_only_the_owner_reads_what_the_containers_do_not_share(folder: Path, secrets: Path):
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    shared = {"superuser_password", "owner_password", "app_password"}
    for file in secrets.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == (0o444 if file.name in shared else 0o400)
    uid = secrets.stat().st_uid
    assert uid != 0
    assert f"MUNIMENT_UID={uid}\n" in (folder / ".env").read_text()


def test_secrets_are_never_overwritten(folder: Path, secrets: Path):
    before = (secrets / "master.key").read_bytes()
    done = run("sh", DEPLOY / "secrets.sh", folder)
    assert done.returncode == 1
    assert "nothing was changed" in done.stderr
    assert (secrets / "master.key").read_bytes() == before


def test_the_entry_point_gives_the_gateway_its_urls_from_files(secrets: Path, tmp_path: Path):
    done = run(
        "sh", DEPLOY / "entrypoint.sh", "serve", "--listen", "127.0.0.1:0",
        PATH=bin_folder(tmp_path, muniment='echo "$@"; env'),
        MUNIMENT_DATABASE_URL_FILE=str(secrets / "database_url"),
        MUNIMENT_REDIS_URL_FILE=str(secrets / "redis_url"),
    )  # fmt: skip
    arguments, *lines = done.stdout.splitlines()
    assert arguments == "serve --listen 127.0.0.1:0"
    variables = dict(line.partition("=")[::2] for line in lines)
    assert "MUNIMENT_DATABASE_URL_FILE" not in variables
    settings = Settings(
        database_url=SecretStr(variables["MUNIMENT_DATABASE_URL"]),
        redis_url=SecretStr(variables["MUNIMENT_REDIS_URL"]),
        master_key_file=secrets / "master.key",
    )
    assert settings.database_url is not None
    assert (
        settings.database_url.get_secret_value()
        == f"postgresql://muniment_gateway:{(secrets / 'app_password').read_text()}@postgres/muniment?sslmode=disable"
    )
    assert parse_address(settings.database_url.get_secret_value()).tls is None


def test_the_entry_point_takes_urls_of_the_environment_as_they_are(tmp_path: Path):
    done = run(
        "sh", DEPLOY / "entrypoint.sh", "migrate",
        PATH=bin_folder(tmp_path, muniment='echo "$MUNIMENT_DATABASE_URL"'),
        MUNIMENT_DATABASE_URL="postgresql://here/x",
    )  # fmt: skip
    assert done.stdout == "postgresql://here/x\n"


def test_an_empty_postgres_gets_the_roles_and_the_owner_can_migrate(
    server: Postgres, secrets: Path, tmp_path: Path
):
    done = run(
        "sh", DEPLOY / "postgres" / "roles.sh",
        PATH=bin_folder(tmp_path, psql=binaries.postgres_folder() / "bin" / "psql"),
        SECRETS=str(secrets), POSTGRES_USER=SUPERUSER, PGHOST=ports.HOST, PGPORT=str(server.port),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    owner_url = server.url("muniment", "muniment_owner", (secrets / "owner_password").read_text())
    gateway_url = server.url("muniment", "muniment_gateway", (secrets / "app_password").read_text())
    assert upgrade(owner_url) is None
    assert upgrade(owner_url) == REVISION
    owner, gateway = PostgresAdmin(owner_url), PostgresAdmin(gateway_url)
    assert gateway.execute("SELECT count(*) FROM facts", "muniment") == "0"
    rights = "SELECT rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname = current_user"
    assert gateway.execute(rights, "muniment") == owner.execute(rights, "muniment") == "f|f|f"
    with pytest.raises(ServerError, match="permission denied"):
        gateway.execute("DELETE FROM traces", "muniment")


def test_redis_takes_its_password_from_the_secret_and_lets_nobody_else_in(secrets: Path, tmp_path: Path):
    shell, option, script = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]["redis"]["command"]
    port = ports.free_port()
    script = script.replace("$$", "$").replace("/tmp/redis.conf", str(tmp_path / "redis.conf"))
    script = script.replace("/run/secrets", str(secrets))
    environment = dict(os.environ) | {"PATH": bin_folder(tmp_path, valkey_server=binaries.valkey_server())}
    command = Command(
        [shell, option, f"{script} --port {port} --bind {ports.HOST}"],
        tmp_path / "log",
        signal.SIGTERM,
        environment=environment,
    )
    process = ServerProcess.start(command)
    try:
        process.wait_until(lambda: ports.answers(port))
        assert Path(f"/proc/{process.pid}/exe").resolve().name == "valkey-server"
        url = (secrets / "redis_url").read_text().replace("@redis/", f"@{ports.HOST}:{port}/")
        with Redis.from_url(url) as client:
            assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        with Redis(port=port) as stranger, pytest.raises(AuthenticationError):
            stranger.ping()
    finally:
        process.kill()
