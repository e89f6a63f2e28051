"""`muniment serve --database-url` with servers, keys or packages that cannot work: one line that names the remedy."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts.servers import ports
from storage.encryption import create_key_file
from tests.integration.production import ROOT, Servers, gateway_with, surroundings
from tests.integration.requests import context_request
from tests.servers import PostgresDatabase

pytestmark = pytest.mark.timeout(300)

USAGE, UNAVAILABLE = 2, 6
WITHOUT_DRIVER = """
import sys
sys.modules["asyncpg"] = None
from gateway.cli.main import main
main()
"""
SERVE = ("-m", "gateway.cli")


def refused(variables: Mapping[str, str], program: tuple[str, ...] = SERVE) -> tuple[int, str]:
    """Exit code and the one line on stderr; neither password nor address is in it."""
    command = [sys.executable, *program, "serve", "--listen", "127.0.0.1:0"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        env=surroundings(variables),
        cwd=ROOT,
        check=False,
    )
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    (line,) = done.stderr.splitlines()
    for secret in ("of-tests-only", "secret-word", variables["MUNIMENT_DATABASE_URL"] or "://"):
        assert secret not in line
    return done.returncode, line


@pytest.fixture
def servers(postgres: PostgresDatabase, redis_url: str, tmp_path: Path) -> Servers:
    return Servers(postgres.url, redis_url, tmp_path)


def test_everything_in_its_place_serves(servers: Servers):
    with gateway_with(servers.variables("one")):
        assert (servers.folder / "one" / "spool-0").stat().st_size == 1 << 20
    assert sorted(path.name for path in (servers.folder / "one").iterdir()) == ["spool-0"]


def test_several_gateways_share_a_port_and_a_folder(servers: Servers):
    port = ports.free_port()
    variables = servers.variables("both") | {"MUNIMENT_REUSE_PORT": "true"}
    with gateway_with(variables, f"127.0.0.1:{port}"), gateway_with(variables, f"127.0.0.1:{port}"):
        names = sorted(path.name for path in (servers.folder / "both").iterdir())
    assert names == ["spool-0", "spool-1"]


def test_a_database_without_a_schema(servers: Servers, bare_postgres: PostgresDatabase):
    variables = servers.variables("one") | {"MUNIMENT_DATABASE_URL": bare_postgres.url}
    code, told = refused(variables)
    assert code == UNAVAILABLE
    assert "the database has no schema" in told
    assert "muniment migrate" in told


@pytest.mark.parametrize(
    ("version", "words"), [("0000", "this release needs"), ("9999", "use a newer release")]
)
def test_a_schema_of_another_release(servers: Servers, postgres: PostgresDatabase, version: str, words: str):
    kept = postgres.execute("SELECT version_num FROM alembic_version").strip()
    postgres.execute(f"UPDATE alembic_version SET version_num = '{version}'")
    try:
        code, told = refused(servers.variables("one"))
    finally:
        postgres.execute(f"UPDATE alembic_version SET version_num = '{kept}'")
    assert code == UNAVAILABLE
    assert f"of schema {version}" in told
    assert words in told


@pytest.mark.parametrize(("role", "words"), [("superuser", "row-level security"), ("owner", "owns tables")])
def test_a_role_that_may_too_much(servers: Servers, postgres: PostgresDatabase, role: str, words: str):
    url = postgres.superuser_url if role == "superuser" else postgres.owner_url
    code, told = refused(servers.variables("one") | {"MUNIMENT_DATABASE_URL": url})
    assert code == UNAVAILABLE
    assert words in told


def test_no_server_at_that_address(servers: Servers):
    nobody = f"postgresql://app:secret-word@127.0.0.1:{ports.free_port()}/muniment"
    code, told = refused(servers.variables("one") | {"MUNIMENT_DATABASE_URL": nobody})
    assert code == UNAVAILABLE
    assert "127.0.0.1" not in told


def test_a_wrong_password_of_redis(servers: Servers):
    head, _, place = servers.redis_url.rpartition("@")
    assert head, "the server has a password"
    wrong = f"redis://:secret-word@{place}"
    code, told = refused(servers.variables("one") | {"MUNIMENT_REDIS_URL": wrong})
    assert code == UNAVAILABLE
    assert "Redis refuses the user or the password" in told


def test_a_redis_that_is_not_there_keeps_nobody_from_serving(servers: Servers):
    nobody = f"redis://127.0.0.1:{ports.free_port()}/0"
    with gateway_with(servers.variables("one") | {"MUNIMENT_REDIS_URL": nobody}):
        pass


def test_a_master_key_file_that_is_not_there(servers: Servers):
    variables = servers.variables("one") | {"MUNIMENT_MASTER_KEY_FILE": str(servers.folder / "none")}
    code, told = refused(variables)
    assert code == USAGE
    assert told.startswith("error: master_key_file: ")
    assert "muniment keys create" in told


def test_a_master_key_file_that_others_can_read(servers: Servers):
    servers.key_file.chmod(0o644)
    code, told = refused(servers.variables("one"))
    assert code == USAGE
    assert "chmod 600" in told


def test_another_master_key_than_the_data_is_encrypted_under(servers: Servers):
    with gateway_with(servers.variables("one")) as client:
        # The trace of it is encrypted.
        client.call(client.context.AssembleContext, context_request())
    other = servers.folder / "other.key"
    create_key_file(other)
    code, told = refused(servers.variables("one") | {"MUNIMENT_MASTER_KEY_FILE": str(other)})
    assert code == UNAVAILABLE
    assert "master key" in told
    with gateway_with(servers.variables("one")):
        pass


def test_a_driver_that_is_not_installed_is_named_with_the_extra(servers: Servers):
    code, told = refused(servers.variables("one"), ("-c", WITHOUT_DRIVER))
    assert code == USAGE
    assert told == (
        "error: database_url: needs asyncpg, which is not installed: pip install 'muniment[postgres]'"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"MUNIMENT_REDIS_URL": ""}, "redis_url: is needed beside database_url"),
        ({"MUNIMENT_DATABASE_URL": ""}, "redis_url: is of no use without database_url"),
        ({"MUNIMENT_DATABASE_URL": "mysql://app:secret-word@db/x"}, "database_url: is not a URL of the form"),
        ({"MUNIMENT_REDIS_URL": "http://secret-word"}, "redis_url: is not a URL of the form"),
        ({"MUNIMENT_SPOOL_MEBIBYTES": "0"}, "spool_mebibytes: "),
    ],
)
def test_settings_that_do_not_fit(servers: Servers, changes: dict[str, str], words: str):
    code, told = refused(servers.variables("one") | changes)
    assert code == USAGE
    assert words in told
