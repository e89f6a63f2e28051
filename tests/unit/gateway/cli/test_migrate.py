"""`muniment migrate` on data folders; what it does on Postgres is the matter of `storage/postgres`."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateway.cli.exits import ExitCode
from gateway.cli.main import app
from storage.sqlite.connection import FolderLock


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["migrate", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_a_folder_is_migrated_once(folder: Path) -> None:
    first, second = run("up", "--data-dir", folder), run("up", "--data-dir", folder)
    assert (first.exit_code, second.exit_code) == (ExitCode.OK, ExitCode.OK)
    assert "schema none was brought to 0001" in first.output
    assert "up to date" in second.output
    assert run("status", "--data-dir", folder).exit_code == ExitCode.OK


def test_looking_makes_nothing(folder: Path) -> None:
    for command in ("status", "sql"):
        assert run(command, "--data-dir", folder).exit_code == ExitCode.NOT_FOUND
    assert not folder.exists()


def test_the_statements_of_an_empty_folder_make_the_schema(folder: Path) -> None:
    folder.mkdir()
    printed = run("sql", "--data-dir", folder)
    assert printed.exit_code == ExitCode.OK
    assert list(folder.iterdir()) == []
    with sqlite3.connect(":memory:") as connection:
        connection.executescript(printed.output)
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)
    connection.close()


def test_a_folder_without_a_schema_is_told_with_the_remedy(folder: Path) -> None:
    folder.mkdir()
    result = run("status", "--data-dir", folder)
    assert result.exit_code == ExitCode.PRECONDITION
    assert "muniment migrate up" in result.output


def test_a_newer_folder_is_left_alone(folder: Path) -> None:
    run("up", "--data-dir", folder)
    with sqlite3.connect(folder / "muniment.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    for command in ("up", "status"):
        result = run(command, "--data-dir", folder)
        assert result.exit_code == ExitCode.PRECONDITION, command
        assert "9999" in result.output


def test_a_folder_that_a_gateway_holds_is_refused(folder: Path) -> None:
    lock = FolderLock(folder)
    try:
        assert run("up", "--data-dir", folder).exit_code == ExitCode.UNAVAILABLE
    finally:
        lock.release()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--database-url", "mysql://u:secret@127.0.0.1/d"], ExitCode.USAGE),
        (["--database-url", "postgresql://u:secret@127.0.0.1:1/d"], ExitCode.UNAVAILABLE),
        (["--database-url", "postgresql://u:secret@127.0.0.1:1/d", "--app-role", "No"], ExitCode.USAGE),
    ],
)
def test_a_url_that_is_of_no_use_is_told_and_not_quoted(arguments: Sequence[str], code: ExitCode) -> None:
    result = run("up", *arguments)
    assert result.exit_code == code
    assert "secret" not in result.output
