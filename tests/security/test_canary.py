"""A canary in every field of every request: in no log line, no span, no metric and no error's words."""

import logging
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from structlog.testing import capture_logs

from gateway.telemetry.setup import activate
from gateway.telemetry.state import STATE
from tests.integration.field_cases import Place, is_map, places
from tests.integration.in_process import Gateway, Refused, gateway_at
from tests.integration.requests import GOOD, context_request

pytestmark = pytest.mark.asyncio(loop_scope="module")

CANARY = "canary-5f1e"
# Good by their form as well, so that the call gets as far as it can.
FORMS = {
    "arguments_json": f'{{"x":"{CANARY}"}}',
    "result_json": f'"{CANARY}"',
    "definition_json": f'{{"description":"{CANARY}"}}',
    "yaml": f"policy_id: {CANARY}\ndescription: {CANARY}\nsections: [{{question: {{label: {CANARY}}}}}]\n",
    "request_id": "3f2b8c1e-9d47-4a60-8e15-7c0d6b9a2f42",
}
WRONG = [CANARY + " ", f"{CANARY}!\n" * 30_000, f"{{{CANARY}", f"tenants/{CANARY}/{CANARY}"]
# Ids and names that the contract repeats in an error, so that a caller can tell which was meant.
REPEATED = {"policy", "turn_id", "call_id", "session_id", "yaml"}


class Emitted:
    """What left the process beside the answers."""

    def __init__(self) -> None:
        self.spans = InMemorySpanExporter()
        self.metrics = InMemoryMetricReader()

    def text(self) -> str:
        return "".join(s.to_json() for s in self.spans.get_finished_spans()) + str(
            self.metrics.get_metrics_data()
        )


@pytest.fixture(scope="module")
def emitted() -> Iterator[Emitted]:
    out = Emitted()
    tracers, meters = TracerProvider(), MeterProvider([out.metrics])
    tracers.add_span_processor(SimpleSpanProcessor(out.spans))
    activate(tracers, meters)
    yield out
    STATE.instruments = None
    STATE.readings.clear()
    tracers.shutdown()
    meters.shutdown()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory, emitted: Emitted) -> AsyncIterator[Gateway]:
    async with gateway_at(tmp_path_factory.mktemp("data")) as opened:
        await opened.use_desk()
        yield opened


def texts(method: str) -> list[Place]:
    kinds = {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES}
    return [p for p in places(GOOD[method]) if p.field.type in kinds or is_map(p.field)]


def with_text(method: str, place: Place, text: str) -> Message:
    request: Message = type(GOOD[method])()
    request.CopyFrom(GOOD[method])
    value: object = text.encode() if place.field.type == FieldDescriptor.TYPE_BYTES else text
    if is_map(place.field):
        value = {"team": text}
    place.put([value] if place.field.is_repeated and not is_map(place.field) else value)(request)
    return request


async def error_of(gateway: Gateway, method: str, request: Message) -> str:
    """The whole error as the client gets it, details included; empty where there is none."""
    try:
        await gateway.raw(method, request.SerializeToString())
    except Refused as refused:
        return str(refused.status.SerializeToString(), "latin-1")
    return ""


@pytest.mark.parametrize("method", sorted(GOOD))
async def test_no_field_leaks(
    gateway: Gateway, emitted: Emitted, caplog: pytest.LogCaptureFixture, method: str
):
    leaks = []
    with caplog.at_level(logging.DEBUG), capture_logs() as logs:
        for place in texts(method):
            for text in (FORMS.get(place.field.name, CANARY), *WRONG):
                error = await error_of(gateway, method, with_text(method, place, text))
                if CANARY in error and place.field.name not in REPEATED:
                    leaks.append(f"{place.path}: {error}")
    assert leaks == []
    assert CANARY not in str(logs)
    assert CANARY not in caplog.text
    assert CANARY not in emitted.text()
    assert logs


async def test_something_was_emitted_at_all(gateway: Gateway, emitted: Emitted):
    await gateway.call("AssembleContext", context_request(turn_id="plain"))
    assert "muniment.v1.ContextService/AssembleContext" in emitted.text()
