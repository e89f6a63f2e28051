"""Spans and metrics say how calls end, never what they say; switched off they cost nothing."""

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from gateway import telemetry
from gateway.config import TelemetryMode
from gateway.deadline import Deadline
from gateway.errors import InvalidArgument, Reason, Unavailable
from gateway.server.call import Call, Method
from gateway.server.failures import errors
from gateway.server.tracing import tracing
from gateway.telemetry.setup import activate
from gateway.telemetry.state import STATE
from muniment.v1 import context_pb2

CANARY = "canary-9d2e"
NAME = "muniment.v1.ContextService/AssembleContext"


class Collected:
    """What went out."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()

    def span(self, name: str = NAME) -> ReadableSpan:
        return next(span for span in self.exporter.get_finished_spans() if span.name == name)

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        data = self.reader.get_metrics_data()
        assert data is not None
        return [
            (dict(point.attributes or {}), point)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]

    def text(self) -> str:
        return "".join(s.to_json() for s in self.exporter.get_finished_spans()) + str(
            self.reader.get_metrics_data()
        )


@pytest.fixture
def collected() -> Iterator[Collected]:
    out = Collected()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(out.exporter))
    meters = MeterProvider([out.reader])
    activate(tracers, meters)
    yield out
    STATE.instruments = None
    STATE.readings.clear()
    tracers.shutdown()
    meters.shutdown()


class Context:
    """As much of grpc's context as the middlewares touch."""

    def __init__(self, metadata: tuple[tuple[str, str], ...] = ()) -> None:
        self._metadata = metadata

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return self._metadata

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNIMPLEMENTED

    async def abort(self, *_: Any) -> None:
        raise grpc.aio.AbortError


async def run(error: BaseException | None, metadata: tuple[tuple[str, str], ...] = ()) -> Call:
    method = Method("muniment.v1.ContextService", "AssembleContext", context_pb2.AssembleContextRequest, 1024)
    context: Any = Context(metadata)
    now = datetime(2026, 11, 29, tzinfo=UTC)
    call = Call(method, context, CANARY.encode(), now, Deadline.after(5.0))

    async def handler(_: Call) -> bytes:
        with telemetry.stage("facts"):
            if error is not None:
                raise error
        return b""

    try:
        await tracing(method, errors(method, handler))(call)
    except grpc.aio.AbortError:
        assert error is not None
    return call


@pytest.mark.parametrize(
    ("error", "code", "reason", "status"),
    [
        (None, "OK", None, StatusCode.UNSET),
        (grpc.aio.AbortError(), "UNIMPLEMENTED", "UNIMPLEMENTED", StatusCode.ERROR),
        (InvalidArgument.of("turn", CANARY), "INVALID_ARGUMENT", "INVALID_FIELD", StatusCode.UNSET),
        (
            Unavailable(Reason.STORAGE_UNAVAILABLE, CANARY),
            "UNAVAILABLE",
            "STORAGE_UNAVAILABLE",
            StatusCode.ERROR,
        ),
        (RuntimeError(CANARY), "INTERNAL", "INTERNAL", StatusCode.ERROR),
        (TimeoutError(CANARY), "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", StatusCode.ERROR),
    ],
)
async def test_a_calls_span_and_metrics_have_the_status_that_the_client_got(
    error, code, reason, status, collected: Collected
):
    await run(error)
    span = collected.span()
    attributes = dict(span.attributes or {})
    assert (attributes["rpc.response.status_code"], attributes.get("error.type")) == (code, reason)
    assert (span.status.status_code, span.status.description) == (status, None)
    assert attributes["rpc.method"] == NAME
    wanted = {"rpc.method": NAME, "rpc.response.status_code": code}
    assert [(a, p.value) for a, p in collected.points("muniment.calls")] == [(wanted, 1)]
    assert [(a, p.count) for a, p in collected.points("rpc.server.call.duration")] == [(wanted, 1)]


@pytest.mark.parametrize("error", [None, RuntimeError(CANARY), InvalidArgument.of("turn", CANARY)])
async def test_no_content_is_in_spans_or_metrics(error, collected: Collected):
    await run(error, (("authorization", CANARY), ("x-note", CANARY)))
    assert collected.span().name == NAME
    assert CANARY not in collected.text()
    assert [span.events for span in collected.exporter.get_finished_spans()] == [(), ()]


async def test_a_stage_is_a_child_span_with_a_duration_and_fails_by_the_type_of_its_error(
    collected: Collected,
):
    await run(RuntimeError(CANARY))
    stage, call = collected.span("muniment.facts"), collected.span()
    assert stage.parent is not None
    assert stage.parent.span_id == call.context.span_id
    assert stage.status.status_code is StatusCode.ERROR
    assert dict(stage.attributes or {}) == {"error.type": "RuntimeError"}
    assert [(a, p.count) for a, p in collected.points("muniment.stage.duration")] == [
        ({"muniment.stage": "facts"}, 1)
    ]


@pytest.mark.parametrize("fault", [None, ValueError(CANARY)])
def test_a_step_that_is_run_as_a_stage_is_one_and_gives_its_result_or_its_error(
    collected: Collected, fault: Exception | None
):
    def step(number: int, *, more: int) -> int:
        if fault is not None:
            raise fault
        return number + more

    with pytest.raises(ValueError) if fault is not None else nullcontext():
        assert telemetry.run("facts", step, 1, more=2) == 3
    attributes = {} if fault is None else {"error.type": "ValueError"}
    assert dict(collected.span("muniment.facts").attributes or {}) == attributes


async def test_the_callers_trace_goes_on_and_is_linked_with_the_audit_trace_both_ways(collected: Collected):
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    with telemetry.call_span(NAME, {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}) as span:
        assert telemetry.current_trace_id() == trace_id
        telemetry.link_trace("0f3c")
        span.end("OK", "")
    assert dict(collected.span().attributes or {})["muniment.trace_id"] == "0f3c"
    assert telemetry.current_trace_id() == ""


async def test_a_broken_traceparent_begins_a_trace_of_its_own(collected: Collected):
    await run(None, (("traceparent", "00-zz"),))
    assert collected.span().parent is None


def test_tokens_degradations_and_the_trace_queue_are_measured(collected: Collected):
    telemetry.count_tokens("FACTS", 120)
    telemetry.count_degradation("HISTORY", "LATE")
    telemetry.observe_trace_queue(lambda: 3)
    telemetry.observe_trace_queue(lambda: 4)
    tokens, degraded, depth = (
        collected.points(f"muniment.{name}") for name in ("prompt.tokens", "degradations", "trace.queue")
    )
    assert [(a, p.sum) for a, p in tokens] == [({"muniment.section": "FACTS"}, 120)]
    assert [(a, p.value) for a, p in degraded] == [
        ({"muniment.section": "HISTORY", "muniment.reason": "LATE"}, 1)
    ]
    assert [p.value for _, p in depth] == [7]


def test_switched_off_nothing_is_wrapped_and_a_stage_makes_nothing():
    assert not telemetry.enabled()

    async def handler(_: Call) -> bytes:
        return b""

    method = Method("s", "M", context_pb2.AssembleContextRequest, 1)
    assert tracing(method, handler) is handler
    assert telemetry.current_trace_id() == ""
    telemetry.count_tokens("FACTS", 1)
    telemetry.count_degradation("FACTS", "LATE")
    telemetry.link_trace("0f3c")
    assert telemetry.stage("facts") is telemetry.stage("history")
    assert telemetry.run("facts", str.upper, "off") == "OFF"


def test_spans_cannot_be_made_while_telemetry_is_off():
    with pytest.raises(RuntimeError, match="telemetry is off"):
        telemetry.call_span(NAME, {})


def test_a_missing_exporter_is_named_with_the_way_to_install_it(monkeypatch):
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("gateway.telemetry.setup.import_module", missing)
    with pytest.raises(telemetry.ExporterMissingError, match=r"pip install 'muniment\[otel\]'"):
        telemetry.configure(TelemetryMode.OTLP)
    assert not telemetry.enabled()


def test_off_stays_off_where_the_process_has_no_provider():
    telemetry.configure(TelemetryMode.OFF)
    assert not telemetry.enabled()
