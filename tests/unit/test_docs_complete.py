"""The tables and pictures of the documents are complete: settings, metrics, services, fields of a policy."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from gateway.config import Settings
from gateway.policies.reading import Draft, PolicyReader
from gateway.telemetry import metrics
from gateway.telemetry.setup import activate
from gateway.telemetry.state import GAUGES, STATE
from muniment.v1 import (
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_pb2,
    policy_service_pb2,
    prefix_pb2,
    session_pb2,
    trace_pb2,
)
from tests.documents import BLOCK, DOCS, blocks, each_document, prose, table_cells

SERVICE_MODULES = (
    context_pb2, fact_pb2, history_pb2, policy_service_pb2, prefix_pb2, session_pb2, trace_pb2,
)  # fmt: skip
PICTURE = DOCS / "images" / "prompt.svg"
MOST_PICTURE_BYTES = 200 * 1024


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
    found = list(BLOCK.finditer(text))
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
        metrics.count_confirmation("SQL")
        for gauge in GAUGES:
            metrics.observe(gauge, lambda: 1)
        assert STATE.instruments is not None
        STATE.instruments.stage_duration.record(0.1)
        data = reader.get_metrics_data()
    finally:
        STATE.instruments = None
        STATE.readings.clear()
    assert data is not None
    made = {m.name for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}
    assert set(table_cells(DOCS / "operations.md", "**Metrics.**")) == made


def test_all_services_are_in_the_contract():
    made = {name for module in SERVICE_MODULES for name in module.DESCRIPTOR.services_by_name}
    assert set(table_cells(DOCS / "contract.md", "# The contract")) >= made


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
