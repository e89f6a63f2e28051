"""Help is quick, complete and shows how each command is used."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner

from gateway.cli.exits import ExitCode
from gateway.cli.main import app


def commands(group: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every command."""
    for name, command in getattr(group, "commands", {}).items():
        yield (*path, name)
        yield from commands(command, (*path, name))


PATHS = list(commands(typer.main.get_command(app)))
LEAVES = [path for path in PATHS if not any(other[: len(path)] == path for other in PATHS if other != path)]


def test_the_commands_of_the_contract_are_there():
    names = {path[0] for path in PATHS}
    assert names == {
        "serve", "health", "demo", "assemble", "play", "why", "why-not", "replay",
        "trace", "facts", "history", "keys", "migrate", "policy", "prefix",
    }  # fmt: skip


@pytest.mark.parametrize("path", LEAVES, ids="-".join)
def test_each_command_shows_an_example_of_itself(path: tuple[str, ...]):
    result = CliRunner().invoke(app, [*path, "--help"])
    assert result.exit_code == 0
    assert f"Example: muniment {' '.join(path)}" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    "path", [p for p in LEAVES if p[0] not in {"serve", "demo", "keys", "migrate"}], ids="-".join
)
def test_each_command_that_calls_can_answer_in_json_and_be_pointed_elsewhere(path: tuple[str, ...]):
    text = CliRunner().invoke(app, [*path, "--help"]).stdout
    assert "--json" in text
    assert "--address" in text


def test_the_help_documents_every_exit_code():
    text = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    assert all(f" {code.value} " in text for code in ExitCode)


def test_help_needs_neither_grpc_nor_protobuf():
    code = "import sys, gateway.cli.main; print(*{'grpc', 'google.protobuf', 'numpy', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_version_is_that_of_the_package():
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith("muniment ")


def test_a_command_that_does_not_exist_is_a_wrong_usage():
    assert CliRunner().invoke(app, ["frobnicate"]).exit_code == ExitCode.USAGE
