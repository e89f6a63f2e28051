"""The middlewares stand in one order, wrap each method once, and cost little."""

from datetime import UTC, datetime
from typing import Any

import grpc
import pytest

from gateway.server.call import Call, Handler, Method
from gateway.server.limits import Limits
from gateway.server.pipeline import (
    MAX_IMPORT_BYTES,
    MAX_REQUEST_BYTES,
    Clocks,
    Pipeline,
    Service,
    standard_middlewares,
)
from muniment.v1 import context_pb2, history_pb2, types_pb2

NOW = datetime(2026, 11, 29, 22, 30, tzinfo=UTC)
CONTEXT_SERVICE = context_pb2.DESCRIPTOR.services_by_name["ContextService"]
PATH = "/muniment.v1.ContextService/AssembleContext"


class Servicer:
    """Answers everything and keeps the calls."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    async def AssembleContext(self, request: Any, call: Call) -> bytes:  # noqa: N802
        self.calls.append(call)
        return b""

    ExplainContext = CountTokens = ReportUsage = AssembleContext


class TransportContext:
    """As much of grpc's context as the entrance touches."""

    def __init__(self, remaining: float | None) -> None:
        self._remaining = remaining
        self.aborted: list[str] = []

    def time_remaining(self) -> float | None:
        return self._remaining

    async def abort(self, code: grpc.StatusCode, *_: object) -> None:
        self.aborted.append(code.name)
        raise grpc.aio.AbortError


def valid_body() -> bytes:
    return context_pb2.AssembleContextRequest(
        session=types_pb2.SessionRef(tenant_id="acme", user_id="u"),
        turn=types_pb2.Turn(
            turn_id="t",
            role=types_pb2.ROLE_USER,
            contents=[types_pb2.Content(text="their credit terms? " * 20)],
        ),
        material=[context_pb2.Material(text="x" * 400, title="Terms", source=f"doc-{i}") for i in range(2)],
        request_id="6f1c2a00-6f1c-4a00-8f1c-6f1c2a006f1c",
    ).SerializeToString()


def entrance(pipeline: Pipeline, servicer: Servicer) -> Any:
    handler: Any = pipeline.handlers(Service(CONTEXT_SERVICE, servicer))[PATH]
    assert handler.request_deserializer is None
    return handler.unary_unary


def test_the_order_is_telemetry_errors_authentication_limits_deadline_validation_tenancy_idempotency():
    limits = Limits(4)
    names = [getattr(m, "__name__", type(m).__name__) for m in standard_middlewares(limits)]
    assert names == [
        "tracing",
        "errors",
        "authentication",
        "Limits",
        "deadline",
        "validation",
        "tenancy",
        "idempotency",
    ]


async def test_the_first_middleware_is_the_outermost_and_each_wraps_a_method_once():
    seen: list[str] = []

    def recording(name: str) -> Any:
        def middleware(method: Method, following: Handler) -> Handler:
            seen.append(f"wrap {name} {method.name}")

            async def handle(call: Call) -> bytes:
                seen.append(f"in {name}")
                answer = await following(call)
                seen.append(f"out {name}")
                return answer

            return handle

        return middleware

    enter = entrance(Pipeline((recording("a"), recording("b"))), Servicer())
    assert seen.count("wrap a AssembleContext") == 1
    seen.clear()
    await enter(b"", TransportContext(1.0))
    await enter(b"", TransportContext(1.0))
    assert seen == ["in a", "in b", "out b", "out a"] * 2


@pytest.mark.parametrize(
    ("body", "remaining", "limit", "code"),
    [
        (b"\xff" * (MAX_REQUEST_BYTES + 1), 0.0, 4, "RESOURCE_EXHAUSTED"),
        (b"\xff", 0.0, 0, "RESOURCE_EXHAUSTED"),
        (b"\xff", 0.0, 4, "DEADLINE_EXCEEDED"),
        (b"\xff", 1.0, 4, "INVALID_ARGUMENT"),
    ],
)
async def test_of_several_faults_the_outermost_middlewares_is_told(body, remaining, limit, code):
    context = TransportContext(remaining)
    servicer = Servicer()
    with pytest.raises(grpc.aio.AbortError):
        await entrance(Pipeline(standard_middlewares(Limits(limit))), servicer)(body, context)
    assert (context.aborted, servicer.calls) == ([code], [])


async def test_a_call_has_one_instant_and_a_deadline_on_the_clocks_given():
    servicer = Servicer()
    clocks = Clocks(now=lambda: NOW, monotonic=lambda: 50.0)
    enter = entrance(Pipeline(standard_middlewares(Limits(4)), clocks), servicer)
    await enter(valid_body(), TransportContext(0.75))
    [call] = servicer.calls
    assert (call.now, call.deadline.expires_at, call.tenant_id) == (NOW, 50.75, "acme")
    assert call.principal is not None


def test_only_imports_may_be_larger_than_one_mebibyte():
    seen: dict[str, int] = {}

    def note(method: Method, following: Handler) -> Handler:
        seen[method.name] = method.max_bytes
        return following

    class History:
        ImportHistory = SearchHistory = Servicer.AssembleContext

    Pipeline((note,)).handlers(Service(history_pb2.DESCRIPTOR.services_by_name["HistoryService"], History()))
    assert seen == {"ImportHistory": MAX_IMPORT_BYTES, "SearchHistory": MAX_REQUEST_BYTES}
