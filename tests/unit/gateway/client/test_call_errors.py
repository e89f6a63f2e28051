"""What a client learns from a call that fails."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from gateway.client import CallError, Client, connect
from muniment.v1 import errors_pb2, trace_pb2

REQUEST = trace_pb2.GetTraceRequest(name="tenants/acme/traces/x")


def packed(message: Message) -> AnyMessage:
    detail = AnyMessage()
    detail.Pack(message)
    return detail


STATUS = status_pb2.Status(
    code=9,
    message="it does not fit: raise the budget",
    details=[
        packed(error_details_pb2.ErrorInfo(reason="BUDGET_TOO_SMALL", metadata={"limit_tokens": "10"})),
        packed(
            error_details_pb2.BadRequest(field_violations=[{"field": "budget", "description": "raise it"}])
        ),
        packed(errors_pb2.BudgetNeeds(limit_tokens=10, needed_tokens=20)),
        packed(errors_pb2.PolicyDiagnostics(diagnostics=[errors_pb2.Diagnostic(line=3)])),
        packed(error_details_pb2.RetryInfo(retry_delay=Duration(seconds=1, nanos=500_000_000))),
    ],
)


class _Traces:
    """Fails every call in the way that the test chose."""

    calls = 0
    trailer: tuple[tuple[str, bytes], ...] = ()
    code = grpc.StatusCode.FAILED_PRECONDITION

    def get_trace(self, request: trace_pb2.GetTraceRequest, context: grpc.ServicerContext) -> NoReturn:
        self.calls += 1
        context.set_trailing_metadata(self.trailer)
        context.abort(self.code, "it does not fit: raise the budget")


@pytest.fixture
def servicer() -> _Traces:
    return _Traces()


@pytest.fixture
def client(servicer: _Traces) -> Iterator[Client]:
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        handler = grpc.unary_unary_rpc_method_handler(
            servicer.get_trace,
            request_deserializer=trace_pb2.GetTraceRequest.FromString,
            response_serializer=trace_pb2.GetTraceResponse.SerializeToString,
        )
        handlers = grpc.method_handlers_generic_handler("muniment.v1.TraceService", {"GetTrace": handler})
        server.add_generic_rpc_handlers((handlers,))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        with connect(f"127.0.0.1:{port}") as connected:
            yield connected
        server.stop(None).wait()


def failure(client: Client) -> CallError:
    with pytest.raises(CallError) as caught:
        client.call(client.traces.GetTrace, REQUEST)
    return caught.value


def test_the_details_of_the_rich_status_are_read(servicer: _Traces, client: Client):
    servicer.trailer = (("grpc-status-details-bin", STATUS.SerializeToString()),)
    error = failure(client)
    assert error.code is grpc.StatusCode.FAILED_PRECONDITION
    assert error.message == "it does not fit: raise the budget"
    assert (error.reason, dict(error.metadata)) == ("BUDGET_TOO_SMALL", {"limit_tokens": "10"})
    assert [(problem.field, problem.remedy) for problem in error.problems] == [("budget", "raise it")]
    assert error.needs is not None
    assert error.needs.needed_tokens == 20
    assert error.diagnostics[0].line == 3
    assert error.retry_seconds == 1.5


@pytest.mark.parametrize("trailer", [(), (("grpc-status-details-bin", b"\xff\xff"),)])
def test_a_failure_without_readable_details_has_code_and_text(
    servicer: _Traces, client: Client, trailer: tuple[tuple[str, bytes], ...]
):
    servicer.trailer = trailer
    error = failure(client)
    assert (error.code, error.reason, error.problems) == (grpc.StatusCode.FAILED_PRECONDITION, "", ())
    assert error.needs is None
    assert error.retry_seconds is None


def test_where_nobody_listens_the_message_says_how_to_start_a_gateway():
    with connect("127.0.0.1:1") as client:
        error = failure(client)
        assert not client.wait_until_serving(0.05)
    assert error.code is grpc.StatusCode.UNAVAILABLE
    assert "muniment serve" in error.message
    assert "127.0.0.1:1" in error.message


def test_a_call_is_not_repeated_behind_the_callers_back(servicer: _Traces, client: Client):
    servicer.code = grpc.StatusCode.UNAVAILABLE
    failure(client)
    assert servicer.calls == 1
