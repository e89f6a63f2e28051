"""What the documents say is so: links lead somewhere, samples run, names exist, tables are complete."""

import ast
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import typer.main
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from gateway.cli.main import app
from gateway.config import Settings
from gateway.policies.reading import Draft, PolicyReader
from gateway.telemetry import metrics
from gateway.telemetry.setup import activate
from gateway.telemetry.state import STATE
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
from tests.integration.gateway_process import running_gateway

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PICTURE = DOCS / "images" / "prompt.svg"
MOST_PICTURE_BYTES = 200 * 1024

# Not part of ours to check: the policy of the project at large, and what other tests hold to the protos.
DOCUMENTS = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
MODULES = (
    context_pb2, errors_pb2, fact_pb2, history_pb2, policy_pb2, policy_service_pb2, prefix_pb2, prompt_pb2, session_pb2,
    trace_pb2, types_pb2,
)  # fmt: skip

_BLOCK = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_COMMAND = re.compile(r"(?:\.venv/bin/)?muniment (?!is )[a-z]")

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def blocks(document: Path, kind: str) -> list[str]:
    """The bodies of the fenced blocks of a kind."""
    return [m["body"] for m in _BLOCK.finditer(document.read_text("utf-8")) if m["kind"] == kind]


def prose(document: Path) -> str:
    """The text without its fenced blocks."""
    return _BLOCK.sub("", document.read_text("utf-8"))


def anchors(document: Path) -> set[str]:
    """The anchors that a host of Markdown makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", prose(document), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(script: str) -> Iterator[list[str]]:
    """The commands of a block, each as its words; a quoted text may go over lines."""
    pending = ""
    for line in script.splitlines():
        pending += line
        try:
            words = shlex.split(pending, comments=True)
        except ValueError:
            pending += "\n"
            continue
        if line.endswith("\\"):
            pending = pending[:-1]
            continue
        pending = ""
        if words:
            yield words
    assert not pending, f"the block ends in the middle of {pending!r}"


def shell_commands(document: Path) -> list[list[str]]:
    """All commands of a document: of its blocks, and of the text where they stand in backticks."""
    found = [words for block in blocks(document, "sh") for words in commands(block)]
    found += [shlex.split(code) for code in _CODE.findall(prose(document)) if _COMMAND.match(code)]
    return found


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
    elif name in ("python", "python3") and rest[0] == "-m":
        assert importlib.util.find_spec(rest[1]) is not None, f"no module {rest[1]}"
    elif name in ("python", "python3") and rest[0] == "-c":
        ast.parse(rest[1])
    else:
        assert name in ("mkdir", "sqlite3", "sh"), f"what is {name}?"


def check_muniment(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    assert not (words and hasattr(command, "commands")), f"no command {words[0]!r} in {command.name}"
    known = {option for p in command.params for option in (*p.opts, *p.secondary_opts)} | {"-h", "--help"}
    for word in words:
        if word.startswith("-") and word != "-":
            assert word.partition("=")[0] in known, f"{command.name} has no option {word}"


def check_make(words: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for word in words:
        name, equals, _ = word.partition("=")
        if equals:
            assert f"$({name})" in makefile, f"the Makefile reads no {name}"
        else:
            assert re.search(rf"^{name}:", makefile, re.MULTILINE), f"no target {name}"


def check_buf(words: list[str]) -> None:
    assert words[0] == "curl"
    service, method = words[-1].split("/")[-2:]
    known = {
        s.full_name: set(s.methods_by_name) for m in MODULES for s in m.DESCRIPTOR.services_by_name.values()
    }
    known["grpc.health.v1.Health"] = {"Check", "List", "Watch"}
    assert method in known[service]


@each_document
def test_names_in_capitals_exist(document: Path):
    known = capital_names()
    codes = [code for code in _CODE.findall(prose(document)) if not code.startswith(("OTEL_", "SO_"))]
    found = {name for code in codes for name in _CONSTANT.findall(code)}
    assert found - known == set()


def capital_names() -> set[str]:
    """Values of enums with and without their prefixes, codes, sections, variables of the environment."""
    names = {"INVALID_ARGUMENT", "NOT_FOUND", "PERMISSION_DENIED", "ALREADY_EXISTS", "FAILED_PRECONDITION"}
    names |= {"RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "NOT_SERVING", "UPDATE_GOLDEN"}
    for message_module in MODULES:
        for enum in enums(message_module.DESCRIPTOR):
            prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
            names |= {text for v in enum.values for text in (v.name, v.name.removeprefix(prefix))}
    names |= {f"MUNIMENT_{field.upper()}" for field in Settings.model_fields}
    names |= {f"MUNIMENT_{name}" for name in ("ADDRESS", "TENANT", "USER", "SESSION", "POLICY")}
    return names | {"DATA_DIR"}


def enums(container: Any) -> Iterator[Any]:
    """The enums of a file or message, nested ones too."""
    yield from container.enum_types_by_name.values()
    messages = getattr(container, "message_types_by_name", None) or getattr(
        container, "nested_types_by_name", {}
    )
    for message in messages.values():
        yield from enums(message)


# -- policies


def draft(sample: str) -> Draft:
    return PolicyReader().from_yaml(sample.encode())


@each_document
def test_policy_samples_are_valid_and_without_warnings(document: Path):
    for sample in blocks(document, "yaml"):
        found = draft(sample)
        assert found.valid, found.diagnostics
        assert [d.rule_id for d in found.diagnostics] == []


def test_faulty_policies_are_told_as_the_text_after_them_says():
    text = (DOCS / "policies.md").read_text("utf-8")
    found = list(_BLOCK.finditer(text))
    pairs = [(a["body"], b["body"]) for a, b in pairwise(found) if a["kind"] == "yaml wrong"]
    assert len(pairs) == 2
    for sample, told in pairs:
        diagnostics = draft(sample).diagnostics
        assert diagnostics
        assert [line for line in told.splitlines() if line.startswith("support.yaml:")] == [
            f"support.yaml:{d.line}:{d.column}: error: {d.field}: {d.message} [{d.rule_id}]"
            for d in diagnostics
        ]


def test_the_large_policy_sample_sets_every_field_there_is():
    message = draft(max(blocks(DOCS / "policies.md", "yaml"), key=len)).message
    assert unset_fields(message, "") == []
    assert len(message.sections) == len(policy_pb2.Section.DESCRIPTOR.oneofs_by_name["settings"].fields)


def test_a_field_that_no_sample_sets_would_be_noticed():
    message = draft("policy_id: p\nsections: [{question: {}}]\nslots: {filters: [{key: k}]}\n").message
    missing = unset_fields(message, "")
    assert {"description", "model", "sections.question.label", "slots.ttl", "slots.filters.label"} <= set(
        missing
    )


def unset_fields(message: Any, path: str) -> list[str]:
    """Paths of fields that are nowhere set, in the message and in the messages below it."""
    missing = []
    descriptor: Descriptor = message.DESCRIPTOR
    given = {f.name: value for f, value in message.ListFields()}
    for field in descriptor.fields:
        # An empty text or a false flag is set as well as a full one; repeated fields have no presence.
        present = field.name in given or (not field.is_repeated and message.HasField(field.name))
        if not present and not is_choice(field):
            missing.append(f"{path}{field.name}")
        elif present and field.message_type is not None and not is_duration(field):
            missing += below(field, given[field.name], f"{path}{field.name}.")
    return missing


def is_choice(field: FieldDescriptor) -> bool:
    """Whether it is one of several of which one is set; an optional field stands alone in a oneof of its own."""
    return field.containing_oneof is not None and len(field.containing_oneof.fields) > 1


def is_duration(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.full_name == "google.protobuf.Duration"


def below(field: FieldDescriptor, value: Any, path: str) -> list[str]:
    """What no message of a repeated field sets; sections differ, and are looked at one by one."""
    if not field.is_repeated:
        return unset_fields(value, path)
    missing = [set(unset_fields(item, path)) for item in value]
    if field.name == "sections":
        return sorted({name for names in missing for name in names if not name.endswith(".budget")})
    return sorted(set.intersection(*missing))


# -- tables


def table_cells(document: Path, heading: str) -> list[str]:
    """The codes of the first column of the table under a heading."""
    _, _, after = prose(document).partition(f"{heading}\n")
    rows = re.findall(r"^\| `([^`]+)`", after.partition("\n## ")[0], re.MULTILINE)
    assert rows, heading
    return rows


def test_all_settings_are_documented():
    documented = table_cells(DOCS / "operations.md", "## Settings")
    assert documented == [f"MUNIMENT_{name.upper()}" for name in Settings.model_fields]


def test_the_documented_defaults_are_those_of_the_settings():
    rows = re.findall(
        r"^\| `MUNIMENT_(\w+)` \|[^|]*\| `([^`]+)`", prose(DOCS / "operations.md"), re.MULTILINE
    )
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    for name, documented in rows:
        default = defaults[name.lower()]
        shown = getattr(default, "target", str(default).lower())
        assert documented == shown.removesuffix(".0"), name


def test_all_metrics_are_documented():
    reader = InMemoryMetricReader()
    activate(TracerProvider(shutdown_on_exit=False), MeterProvider([reader], shutdown_on_exit=False))
    try:
        metrics.record_call("m", "OK", 0.1)
        metrics.count_tokens("FACTS", 1)
        metrics.count_degradation("FACTS", "LATE")
        assert STATE.instruments is not None
        STATE.instruments.stage_duration.record(0.1)
        data = reader.get_metrics_data()
    finally:
        STATE.instruments = None
    assert data is not None
    made = {m.name for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}
    assert set(table_cells(DOCS / "operations.md", "**Metrics.**")) == made


def test_all_services_are_in_the_contract():
    made = {name for module in MODULES for name in module.DESCRIPTOR.services_by_name}
    assert set(table_cells(DOCS / "contract.md", "# The contract")) >= made


# -- the picture


def test_the_picture_is_small_and_refers_to_nothing_outside():
    assert PICTURE.stat().st_size < MOST_PICTURE_BYTES
    text = PICTURE.read_text("utf-8")
    ET.fromstring(text)
    assert "@font-face" not in text
    assert set(re.findall(r"url\(([^)]{1,5})", text)) <= {"#prom"}
    assert not re.search(r"(?:href|src)=", text)


def test_the_picture_shows_where_lines_come_from():
    shown = "".join(ET.fromstring(PICTURE.read_text("utf-8")).itertext())
    for item in ("fact/3", "excerpt/16", "material/0", "slot/focus", "policy/facts.precedence", "prefix"):
        assert item in shown


# -- the README's calls


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
