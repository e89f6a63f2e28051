"""The metrics of a prompt: the tokens of its sections, and what it had to do without."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from gateway.telemetry.setup import activate
from gateway.telemetry.state import STATE
from muniment.v1 import context_pb2, types_pb2
from tests.integration.in_process import gateway_at


@pytest.fixture
def metrics() -> Iterator[InMemoryMetricReader]:
    reader = InMemoryMetricReader()
    activate(TracerProvider(shutdown_on_exit=False), MeterProvider([reader], shutdown_on_exit=False))
    yield reader
    STATE.instruments = None


def points(reader: InMemoryMetricReader, name: str) -> dict[tuple[Any, ...], Any]:
    """The data points by the values of their attributes."""
    data = reader.get_metrics_data()
    assert data is not None
    return {
        tuple(dict(point.attributes or {}).values()): point
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == name
        for point in metric.data.data_points
    }


def request(**more: Any) -> context_pb2.AssembleContextRequest:
    return context_pb2.AssembleContextRequest(
        session=types_pb2.SessionRef(tenant_id="acme", user_id="dana"),
        turn=types_pb2.Turn(
            turn_id="t", role=types_pb2.ROLE_USER, contents=[types_pb2.Content(text="What is open?")]
        ),
        material=[context_pb2.Material(text="word " * 300, source="archive")],
        **more,
    )


async def test_the_tokens_of_each_section_are_measured(metrics: InMemoryMetricReader, tmp_path: Path):
    async with gateway_at(tmp_path) as gateway:
        answer = await gateway.call("AssembleContext", request())
    measured = {key[0]: point.sum for key, point in points(metrics, "muniment.prompt.tokens").items()}
    lines = answer.prompt.budget_report.sections
    assert measured == {types_pb2.SectionKind.Name(s.section)[len("SECTION_KIND_") :]: s.used for s in lines}
    assert measured["MATERIAL"] > 300


async def test_what_a_prompt_does_without_is_counted_by_section_and_reason(
    metrics: InMemoryMetricReader, tmp_path: Path
):
    async with gateway_at(tmp_path) as gateway:
        await gateway.call("AssembleContext", request(budget=types_pb2.Budget(max_input_tokens=100)))
    counted = points(metrics, "muniment.degradations")
    assert {key: point.value for key, point in counted.items()} == {("MATERIAL", "OVER_BUDGET"): 1}


async def test_a_dry_run_is_not_counted(metrics: InMemoryMetricReader, tmp_path: Path):
    async with gateway_at(tmp_path) as gateway:
        await gateway.call("AssembleContext", request(validate_only=True))
    assert points(metrics, "muniment.prompt.tokens") == {}
