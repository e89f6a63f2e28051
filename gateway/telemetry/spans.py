"""Spans of calls and of their stages, with the status that the client got."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Final, ParamSpec, Self, TypeVar

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from gateway.telemetry.state import STATE, Instruments

P = ParamSpec("P")
R = TypeVar("R")

_PROPAGATOR = TraceContextTextMapPropagator()
_NOTHING: Final[AbstractContextManager[None]] = nullcontext()

# Codes that are the server's failure; the others are answers (semantic conventions for gRPC servers).
_SERVER_FAILURES = frozenset(
    {"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"}
)


def stage(name: str) -> AbstractContextManager[None]:
    """A span and a duration for one stage of a call, such as `facts`: `with stage("facts"): ...`.

    An exception marks the stage as failed by its type; it goes on unchanged.
    """
    instruments = STATE.instruments
    return _NOTHING if instruments is None else _Stage(instruments, name)


def run(name: str, step: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """`step(...)` as a stage; switched off it costs a call, a third of what `with stage(name)` does."""
    if STATE.instruments is None:
        return step(*arguments, **named)
    with stage(name):
        return step(*arguments, **named)


class _Stage(AbstractContextManager[None]):
    __slots__ = ("_instruments", "_name", "_span", "_started", "_token")

    def __init__(self, instruments: Instruments, name: str) -> None:
        self._instruments = instruments
        self._name = name

    def __enter__(self) -> None:
        self._started = time.perf_counter()
        self._span = self._instruments.tracer.start_span(f"muniment.{self._name}")
        self._token = otel_context.attach(trace.set_span_in_context(self._span))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        otel_context.detach(self._token)
        if kind is not None:
            # The exception's text could hold content; its type cannot.
            self._span.set_attribute("error.type", kind.__qualname__)
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()
        self._instruments.stage_duration.record(
            time.perf_counter() - self._started, {"muniment.stage": self._name}
        )


class CallSpan:
    """The span of one call: `end` says how it went. Only to be made where telemetry is on."""

    __slots__ = ("_span", "_token")

    def __init__(self, instruments: Instruments, method: str, carrier: Mapping[str, str]) -> None:
        self._span: Span = instruments.tracer.start_span(
            method,
            context=_PROPAGATOR.extract(carrier),
            kind=SpanKind.SERVER,
            attributes={"rpc.system.name": "grpc", "rpc.method": method},
        )

    def __enter__(self) -> Self:
        self._token = otel_context.attach(trace.set_span_in_context(self._span))
        return self

    def end(self, code: str, reason: str) -> None:
        """Note the name of the gRPC code and the reason of the error ("" for none)."""
        self._span.set_attribute("rpc.response.status_code", code)
        if code != "OK":
            self._span.set_attribute("error.type", reason or code)
        if code in _SERVER_FAILURES:
            self._span.set_status(Status(StatusCode.ERROR))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        otel_context.detach(self._token)
        self._span.end()


def call_span(method: str, carrier: Mapping[str, str]) -> CallSpan:
    """The span of a call, under the trace context of the carrier (a W3C `traceparent`) where it has one."""
    instruments = STATE.instruments
    if instruments is None:
        raise RuntimeError("telemetry is off: ask enabled() first")
    return CallSpan(instruments, method, carrier)


def current_trace_id() -> str:
    """The OpenTelemetry trace id of this call, 32 hex digits, for the audit trace; "" where there is none."""
    if STATE.instruments is None:
        return ""
    span = trace.get_current_span().get_span_context()
    return trace.format_trace_id(span.trace_id) if span.is_valid else ""


def link_trace(audit_trace_id: str) -> None:
    """Note the audit trace's id on the current span."""
    if STATE.instruments is not None:
        trace.get_current_span().set_attribute("muniment.trace_id", audit_trace_id)
