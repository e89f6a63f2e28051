"""What the documents say is so: links lead somewhere, samples run, commands and names exist."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.config import Settings
from muniment.v1 import (
    context_pb2,
    errors_pb2,
    fact_pb2,
    history_pb2,
    policy_pb2,
    policy_service_pb2,
    prefix_pb2,
    prompt_pb2,
    session_pb2,
    trace_pb2,
    types_pb2,
)
from scripts.servers import launching, temporary
from storage.ports.confirmations import EpochSource
from tests.commands import check_command
from tests.documents import CODE, DOCS, README, ROOT, anchors, blocks, each_document, prose, shell_commands
from tests.integration.gateway_process import running_gateway

MODULES = (
    context_pb2, errors_pb2, fact_pb2, history_pb2, policy_pb2, policy_service_pb2, prefix_pb2, prompt_pb2, session_pb2,
    trace_pb2, types_pb2,
)  # fmt: skip

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


@each_document
def test_links_lead_to_files_and_headings_that_are_there(document: Path):
    for link in _LINK.findall(prose(document)):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{link} leads nowhere"
        assert target.is_relative_to(ROOT), f"{link} leads out of the repository"
        if anchor:
            assert anchor in anchors(target), f"{link}: there is no such heading"


@each_document
def test_every_document_is_listed_in_the_index_or_beside_it(document: Path):
    if document.parent == DOCS and document.name != "README.md":
        assert f"({document.name})" in (DOCS / "README.md").read_text("utf-8")


@each_document
def test_no_line_names_a_place_of_one_machine(document: Path):
    found = re.findall(r"/(?:home|root|work|Users)/\w+", document.read_text("utf-8"))
    assert found == []


@each_document
def test_python_samples_compile(document: Path):
    for sample in blocks(document, "python"):
        ast.parse(sample)


@each_document
def test_json_samples_are_json(document: Path):
    for sample in blocks(document, "json"):
        json.loads(sample)


@each_document
def test_commands_of_the_samples_exist_with_their_options(document: Path):
    for words in shell_commands(document):
        check_command(words)


@each_document
def test_names_in_capitals_exist(document: Path):
    known = capital_names()
    codes = [code for code in CODE.findall(prose(document)) if not code.startswith(("OTEL_", "SO_"))]
    found = {name for code in codes for name in _CONSTANT.findall(code)}
    assert found - known == set()


def capital_names() -> set[str]:
    """Values of enums with and without their prefixes, codes, sections, variables of the environment."""
    names = {"INVALID_ARGUMENT", "NOT_FOUND", "PERMISSION_DENIED", "ALREADY_EXISTS", "FAILED_PRECONDITION"}
    names |= {"RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "NOT_SERVING", "MUNIMENT_UPDATE_GOLDEN"}
    for message_module in MODULES:
        for enum in enums(message_module.DESCRIPTOR):
            prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
            names |= {text for v in enum.values for text in (v.name, v.name.removeprefix(prefix))}
    names |= {f"MUNIMENT_{field.upper()}" for field in Settings.model_fields}
    names |= {f"MUNIMENT_{name}" for name in ("ADDRESS", "TENANT", "USER", "SESSION", "POLICY")}
    names |= {temporary.POSTGRES_VARIABLE, temporary.REDIS_VARIABLE, launching.VARIABLE}
    names |= {source.name for source in EpochSource}
    return names | {"DATA_DIR"}


def enums(container: Any) -> Iterator[Any]:
    """The enums of a file or message, nested ones too."""
    yield from container.enum_types_by_name.values()
    messages = getattr(container, "message_types_by_name", None) or getattr(
        container, "nested_types_by_name", {}
    )
    for message in messages.values():
        yield from enums(message)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_gateway(tmp_path_factory.mktemp("readme")) as client:
        yield client.address


def run(command: list[str], address: str) -> str:
    """The output of a command that must end well."""
    environment = dict(os.environ) | {
        "MUNIMENT_ADDRESS": address,
        "PYTHONPATH": os.pathsep.join((str(ROOT / "proto"), str(ROOT))),
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        cwd=ROOT,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_calls_of_the_readme_run_one_after_the_other(address: str):
    (sample,) = blocks(README, "python")
    assert "127.0.0.1:7463" in sample
    body, report = run(
        [sys.executable, "-c", sample.replace("127.0.0.1:7463", address)], address
    ).splitlines()
    assert "due within 14 days" in json.loads(body)["messages"][-1]["content"]
    assert re.fullmatch(r"\d+ tokens, trace tenants/acme/traces/[0-9a-f]{32}", report)

    # Tools are installed beside the interpreter, wherever that is.
    tools = str(Path(sys.executable).parent)
    scripts = [b for b in blocks(README, "sh") if ".venv/bin/" in b]
    by_reflection, by_command = (
        run(["sh", "-ec", b.replace(".venv/bin", tools).replace("127.0.0.1:7463", address)], address)
        for b in scripts
    )
    answer = json.loads(by_reflection)
    assert [q["turnId"] for q in answer["slots"]["recentQuestions"]] == ["turn-1", "turn-2"]
    assert "slot/question/turn-1 │" in by_command
    assert "asked in turn turn-1" in by_command
