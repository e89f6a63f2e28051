"""Commands that documents and the deployment name: whether they exist, with the options that are given."""

import ast
import importlib.util
import re
from typing import Any

import typer.main
import yaml

from gateway.cli.main import app
from muniment.v1 import (
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_service_pb2,
    prefix_pb2,
    session_pb2,
    trace_pb2,
)
from tests.documents import ROOT

SERVICES = (
    context_pb2, fact_pb2, history_pb2, policy_service_pb2, prefix_pb2, session_pb2, trace_pb2,
)  # fmt: skip
COMPOSE = ROOT / "deploy" / "compose.yaml"
# Of the system and of the servers: not ours to check.
FOREIGN = ("chmod", "createdb", "mkdir", "pg_basebackup", "pg_dump", "pg_restore", "psql", "sh", "sqlite3")


def check_command(words: list[str]) -> None:
    """Fail for a command that does not exist, or one of ours with an option that it does not have."""
    program, *rest = words
    name = program.rpartition("/")[2]
    if name == "muniment":
        check_muniment(rest)
    elif name == "make":
        check_make(rest)
    elif name == "buf":
        check_buf(rest)
    elif name == "docker":
        check_docker(rest)
    elif name in ("python", "python3") and rest[0] == "-m":
        assert importlib.util.find_spec(rest[1]) is not None, f"no module {rest[1]}"
    elif name in ("python", "python3") and rest[0] == "-c":
        ast.parse(rest[1])
    elif name == "sh" and rest[0].endswith(".sh"):
        assert (ROOT / rest[0]).is_file(), f"no script {rest[0]}"
    else:
        assert name in FOREIGN, f"what is {name}?"


def check_muniment(words: list[str]) -> None:
    """Fail where there is no such command of ours, or it has no such option."""
    command: Any = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words[0]]
        words = words[1:]
    assert not (words and hasattr(command, "commands")), f"no command {words[0]!r} in {command.name}"
    known = {option for p in command.params for option in (*p.opts, *p.secondary_opts)} | {"-h", "--help"}
    for word in words:
        if word.startswith("-") and word != "-":
            assert word.partition("=")[0] in known, f"{command.name} has no option {word}"


def check_make(words: list[str]) -> None:
    """Fail where the Makefile has no such target or reads no such variable."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for word in words:
        name, equals, _ = word.partition("=")
        if equals:
            assert f"$({name})" in makefile, f"the Makefile reads no {name}"
        else:
            assert re.search(rf"^{name}:", makefile, re.MULTILINE), f"no target {name}"


def check_buf(words: list[str]) -> None:
    """Fail where no service has the method."""
    assert words[0] == "curl"
    service, method = words[-1].split("/")[-2:]
    known = {
        s.full_name: set(s.methods_by_name) for m in SERVICES for s in m.DESCRIPTOR.services_by_name.values()
    }
    known["grpc.health.v1.Health"] = {"Check", "List", "Watch"}
    assert method in known[service]


def check_docker(words: list[str]) -> None:
    """Fail where it is not our compose file, or `exec` and `run` name what is not there."""
    assert words[:3] == ["compose", "-f", str(COMPOSE.relative_to(ROOT))], words
    verb, *rest = (word for word in words[3:] if not word.startswith("-"))
    services = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]
    if verb in ("exec", "run"):
        assert rest[0] in services, f"no service {rest[0]}"
        given = words[words.index(rest[0]) + 1 :]
        # The image's entry point is `muniment`, so `run` gives it its arguments.
        if verb == "run" or given[:1] == ["muniment"]:
            check_muniment(given if verb == "run" else given[1:])
    else:
        assert verb in ("up", "down", "logs", "ps", "stop"), f"docker compose {verb}?"
        assert set(rest) <= set(services)
