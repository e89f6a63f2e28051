"""`muniment keys` on a data folder and on a Postgres, as an operator runs it."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assemblers.records import UserRef
from gateway.cli.exits import ExitCode
from gateway.cli.main import app
from gateway.cli.run import keys
from storage.conformance.samples import NOW, fact, receipt
from storage.encryption import FileKeyProvider
from storage.encryption.key_file import add_master_key, read_key_file
from storage.encryption.user_rotation import Pace
from storage.postgres import open_postgres
from storage.sqlite import open_sqlite
from storage.sqlite.connection import DATABASE_NAME
from tests.servers import PostgresDatabase

USERS = [UserRef("acme", "ann"), UserRef("umbrella", "ann")]


def muniment(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["keys", *arguments], env={"COLUMNS": "200"})


def said(result: Result) -> str:
    return result.stdout + result.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    async def fill() -> None:
        async with await open_sqlite(tmp_path / "data") as storage:
            for user in USERS:
                await storage.facts.record(user, [fact("k", "kept")], NOW, receipt("", user.tenant_id))

    asyncio.run(fill())
    return tmp_path / "data"


def values(folder: Path) -> list[object]:
    async def read() -> list[object]:
        async with await open_sqlite(folder) as storage:
            return [each.value for user in USERS for each in (await storage.facts.load(user)).facts]

    return asyncio.run(read())


def contents(folder: Path) -> list[object]:
    connection = sqlite3.connect(folder / DATABASE_NAME)
    try:
        return [row[0] for row in connection.execute("SELECT content FROM facts ORDER BY tenant_id, no")]
    finally:
        connection.close()


def test_a_key_file_is_made_once_and_is_private(tmp_path: Path):
    path = tmp_path / "master.key"
    made = muniment("create", str(path))
    assert made.exit_code == ExitCode.OK
    (key,) = read_key_file(path)
    assert key.key_id in made.stdout
    assert path.stat().st_mode & 0o777 == 0o600
    again = muniment("create", str(path))
    assert again.exit_code == ExitCode.CONFLICT
    assert read_key_file(path) == (key,)


def test_the_master_key_of_a_data_folder_is_rotated_and_the_old_one_dropped(folder: Path):
    (old,) = read_key_file(folder / "master.key")
    before = contents(folder)
    rotated = muniment("rotate", "--data-dir", str(folder))
    assert rotated.exit_code == ExitCode.OK, said(rotated)
    assert "2 tenants' keys" in rotated.stdout
    new, kept = read_key_file(folder / "master.key")
    assert kept == old
    shown = muniment("status", "--data-dir", str(folder)).stdout
    assert [line.split("│")[1:4] for line in shown.splitlines() if "mk-" in line] == [
        [f" {new.key_id} ", " current ", " 2             "],
        [f" {old.key_id} ", " former  ", " 0             "],
    ]
    pruned = muniment("rotate", "--data-dir", str(folder), "--prune")
    assert old.key_id in pruned.stdout
    assert read_key_file(folder / "master.key") == (new,)
    assert contents(folder) == before
    assert values(folder) == ["kept", "kept"]


def test_a_spare_key_is_taken_by_the_rotation(folder: Path):
    added = muniment("add", str(folder / "master.key"))
    spare = read_key_file(folder / "master.key")[-1]
    assert spare.key_id in added.stdout
    assert "spare" in muniment("status", "--data-dir", str(folder)).stdout
    muniment("rotate", "--data-dir", str(folder))
    assert read_key_file(folder / "master.key")[0].key_id == spare.key_id
    assert values(folder) == ["kept", "kept"]


def test_what_was_cut_off_is_resumed_without_another_key(folder: Path):
    added = add_master_key(folder / "master.key")
    refused = muniment("rotate", "--data-dir", str(folder), "--prune")
    assert refused.exit_code == ExitCode.PRECONDITION
    assert muniment("rotate", "--data-dir", str(folder), "--resume").exit_code == ExitCode.OK
    assert read_key_file(folder / "master.key")[0].key_id == added.key_id
    assert len(read_key_file(folder / "master.key")) == 2
    assert "no master key but" not in muniment("rotate", "--data-dir", str(folder), "--prune").stdout
    assert "no master key but" in muniment("rotate", "--data-dir", str(folder), "--prune").stdout
    assert values(folder) == ["kept", "kept"]


def test_a_users_key_is_rotated_at_once_where_nobody_else_has_the_folder_open(folder: Path):
    before = contents(folder)
    rotated = muniment("rotate", "--data-dir", str(folder), "-t", "acme", "-u", "ann")
    assert rotated.exit_code == ExitCode.OK, said(rotated)
    assert "under key 2" in rotated.stdout
    after = contents(folder)
    assert (after[0] != before[0], after[1]) == (True, before[1])
    assert values(folder) == ["kept", "kept"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("-t", "acme", "-u", "nobody"), ExitCode.NOT_FOUND),
        (("-t", "acme"), ExitCode.USAGE),
        (("-u", "ann"), ExitCode.USAGE),
        (("--resume", "--prune"), ExitCode.USAGE),
        (("--prune", "-t", "acme", "-u", "ann"), ExitCode.USAGE),
        (("--master-key-file", "missing.key"), ExitCode.INVALID),
        (("--database-url", "postgresql://db/muniment"), ExitCode.USAGE),
    ],
)
def test_what_cannot_be_done_is_told_by_its_code(folder: Path, arguments: tuple[str, ...], code: ExitCode):
    result = muniment("rotate", "--data-dir", str(folder), *arguments)
    assert result.exit_code == code, said(result)
    assert "Traceback" not in said(result)


def test_a_folder_that_is_none_is_told_and_not_made(tmp_path: Path):
    assert muniment("status", "--data-dir", str(tmp_path / "none")).exit_code == ExitCode.NOT_FOUND
    assert not (tmp_path / "none").exists()


async def test_a_folder_that_a_gateway_has_open_is_left_alone(tmp_path: Path):
    async with await open_sqlite(tmp_path):
        result = await asyncio.to_thread(muniment, "rotate", "--data-dir", str(tmp_path))
    assert result.exit_code == ExitCode.UNAVAILABLE
    assert "another process" in result.stderr


def test_a_wrong_key_file_changes_nothing(folder: Path, tmp_path: Path):
    other = tmp_path / "other.key"
    muniment("create", str(other))
    before = other.read_bytes()
    result = muniment("rotate", "--data-dir", str(folder), "--master-key-file", str(other))
    assert result.exit_code == ExitCode.PRECONDITION
    assert other.read_bytes() == before
    assert values(folder) == ["kept", "kept"]


@pytest.fixture
def on_postgres(postgres: PostgresDatabase, tmp_path: Path) -> tuple[str, ...]:
    """The options that name a Postgres with something in it, as its owner."""
    path = tmp_path / "master.key"
    muniment("create", str(path))

    async def fill() -> None:
        async with await open_postgres(postgres.url, FileKeyProvider(path)) as storage:
            for user in USERS:
                await storage.facts.record(user, [fact("k", "kept")], NOW, receipt("", user.tenant_id))

    asyncio.run(fill())
    return ("--database-url", postgres.owner_url, "--master-key-file", str(path))


def read_back(postgres: PostgresDatabase, path: str) -> list[object]:
    async def read() -> list[object]:
        async with await open_postgres(postgres.url, FileKeyProvider(Path(path))) as storage:
            return [each.value for user in USERS for each in (await storage.facts.load(user)).facts]

    return asyncio.run(read())


def test_keys_of_a_postgres_are_rotated_by_its_owner(
    postgres: PostgresDatabase, on_postgres: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    # No gateway is there to be waited for.
    monkeypatch.setattr(keys, "Pace", lambda: Pace(0.0))
    rotated = muniment("rotate", *on_postgres)
    assert rotated.exit_code == ExitCode.OK, said(rotated)
    assert "2 tenants' keys" in rotated.stdout
    assert muniment("rotate", *on_postgres, "--prune").exit_code == ExitCode.OK
    of_user = muniment("rotate", *on_postgres, "-t", "acme", "-u", "ann")
    assert of_user.exit_code == ExitCode.OK, said(of_user)
    assert "2 values" in of_user.stdout
    assert read_back(postgres, on_postgres[-1]) == ["kept", "kept"]


@pytest.mark.parametrize("command", ["rotate", "status"])
def test_a_gateways_role_may_not_go_through_all_tenants(
    postgres: PostgresDatabase, on_postgres: tuple[str, ...], command: str
):
    result = muniment(command, "--database-url", postgres.url, "--master-key-file", on_postgres[-1])
    assert result.exit_code == ExitCode.UNAVAILABLE
    assert "owner" in result.stderr
    assert "of-tests-only" not in said(result)
    assert len(read_key_file(Path(on_postgres[-1]))) == 1
