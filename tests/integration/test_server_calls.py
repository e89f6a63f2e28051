"""A real grpc.aio server and client: what reaches a client when calls go well, wrong, or late."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from gateway.config import ListenAddress
from gateway.errors import NotFound
from gateway.server import AddressUnavailableError, Call, Server, ServerOptions, Service
from muniment.v1 import context_pb2, context_pb2_grpc, history_pb2, history_pb2_grpc, types_pb2
from storage.errors import EtagMismatch

CANARY = "canary-51c0"
PREFIX = "/muniment.v1.ContextService/"


class ContextServicer:
    """Does what the turn id says."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.calls: list[Call] = []

    async def AssembleContext(self, request: Any, call: Call) -> Any:  # noqa: N802
        self.calls.append(call)
        match request.turn.turn_id:
            case "raise":
                raise RuntimeError(f"password={CANARY}")
            case "panic":
                raise _PanicError(CANARY)
            case "wait":
                await self._wait()
            case "conflict":
                raise EtagMismatch("W/18")
            case "nothing":
                raise NotFound
            case "bytes":
                return context_pb2.AssembleContextResponse(trace="encoded").SerializeToString()
        return context_pb2.AssembleContextResponse(trace=call.tenant_id)

    async def _wait(self) -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def ExplainContext(self, request: Any, call: Call) -> Any:  # noqa: N802
        return context_pb2.ExplainContextResponse()

    async def CountTokens(self, request: Any, call: Call) -> Any:  # noqa: N802
        return context_pb2.CountTokensResponse()

    async def ReportUsage(self, request: Any, call: Call) -> Any:  # noqa: N802
        return context_pb2.ReportUsageResponse()


class HistoryServicer:
    async def ImportHistory(self, request: Any, call: Call) -> Any:  # noqa: N802
        return history_pb2.ImportHistoryResponse()

    async def SearchHistory(self, request: Any, call: Call) -> Any:  # noqa: N802
        return history_pb2.SearchHistoryResponse()


class _PanicError(BaseException):
    """Like a panic in an extension module."""


@dataclass
class Running:
    server: Server
    channel: grpc.aio.Channel
    servicer: ContextServicer
    port: int
    storage: dict[str, bool] = field(default_factory=lambda: {"ready": True})

    @property
    def stub(self) -> Any:
        return context_pb2_grpc.ContextServiceStub(self.channel)

    def raw(self, method: str) -> Any:
        """The method as a function of bytes."""
        return self.channel.unary_unary(PREFIX + method)

    async def until_called(self, times: int) -> None:
        """Wait until the servicer was called that often."""
        async with asyncio.timeout(5):
            while len(self.servicer.calls) < times:  # noqa: ASYNC110  the servicer only keeps a list
                await asyncio.sleep(0.01)


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    servicer = ContextServicer()
    storage = {"ready": True}

    async def ready() -> bool:
        return storage["ready"]

    services = [
        Service(context_pb2.DESCRIPTOR.services_by_name["ContextService"], servicer),
        Service(history_pb2.DESCRIPTOR.services_by_name["HistoryService"], HistoryServicer()),
    ]
    options = ServerOptions(ListenAddress("127.0.0.1", 0), max_concurrent_calls=4, under_way_seconds=0.0)
    server = Server(options, services, ready)
    port = await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield Running(server, channel, servicer, port, storage)
    await server.stop()


def turn(turn_id: str, text: str = "hello") -> context_pb2.AssembleContextRequest:
    return context_pb2.AssembleContextRequest(
        session=types_pb2.SessionRef(tenant_id="acme", user_id="u"),
        turn=types_pb2.Turn(
            turn_id=turn_id, role=types_pb2.ROLE_USER, contents=[types_pb2.Content(text=text)]
        ),
        request_id="6f1c2a00-6f1c-4a00-8f1c-6f1c2a006f1c",
    )


async def refusal(call: Any) -> tuple[grpc.aio.AioRpcError, status_pb2.Status | None]:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call
    error = refused.value
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
    return error, status_pb2.Status.FromString(details) if details is not None else None


def info(status: status_pb2.Status | None) -> error_details_pb2.ErrorInfo:
    assert status is not None
    return error_details_pb2.ErrorInfo.FromString(status.details[0].value)


async def test_a_call_is_answered_with_message_or_bytes(running: Running):
    assert (await running.stub.AssembleContext(turn("t"))).trace == "acme"
    assert (await running.stub.AssembleContext(turn("bytes"))).trace == "encoded"


async def test_without_a_deadline_a_call_has_two_seconds_and_never_more_than_ten(running: Running):
    await running.stub.AssembleContext(turn("t"))
    await running.stub.AssembleContext(turn("t"), timeout=5)
    await running.stub.AssembleContext(turn("t"), timeout=500)
    seconds = [call.deadline.seconds for call in running.servicer.calls]
    assert seconds == [2.0, pytest.approx(5.0, abs=0.5), 10.0]


@pytest.mark.parametrize("body", [b"\xff\xff", b"\x0a\x05\x0a\x03\xed\xa0\x80", b"\x0a\xff\xff\xff\x7f"])
async def test_malformed_bytes_are_an_invalid_argument_with_a_fixed_text(body, running: Running):
    error, status = await refusal(running.raw("AssembleContext")(body))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert info(status).reason == "MALFORMED_REQUEST"
    assert (error.details() or "").startswith("the request is not a well-formed message of this method")


@pytest.mark.parametrize("turn_id", ["raise", "panic"])
async def test_an_exceptions_text_never_reaches_the_client(turn_id, running: Running, capfd):
    error, status = await refusal(running.stub.AssembleContext(turn(turn_id)))
    assert error.code() is grpc.StatusCode.INTERNAL
    assert info(status).reason == "INTERNAL"
    assert CANARY not in f"{error.details()}{status}{error.trailing_metadata()}{error.debug_error_string()}"
    written = capfd.readouterr()
    assert info(status).metadata["incident"] in written.out + written.err
    assert CANARY not in written.out + written.err


async def test_rich_details_come_with_their_status(running: Running):
    request = turn("bad id")
    request.turn.contents[0].text = "x" * 70_000
    error, status = await refusal(running.stub.AssembleContext(request))
    assert status is not None
    assert (error.code(), status.message) == (grpc.StatusCode.INVALID_ARGUMENT, error.details())
    bad = error_details_pb2.BadRequest.FromString(status.details[1].value)
    assert {v.field for v in bad.field_violations} >= {"turn.turn_id", "turn.contents[0].text"}
    error, status = await refusal(running.stub.AssembleContext(turn("conflict")))
    assert error.code() is grpc.StatusCode.ABORTED
    assert info(status).metadata["etag"] == "W/18"


async def test_what_is_not_there_is_told_in_the_same_bytes(running: Running):
    answers = []
    for tenant in ("acme", "globex"):
        request = turn("nothing")
        request.session.tenant_id = tenant
        error, status = await refusal(running.stub.AssembleContext(request))
        assert status is not None
        answers.append((error.code(), error.details(), status.SerializeToString()))
    assert answers[0] == answers[1]


async def test_a_request_over_one_mebibyte_is_refused_and_an_import_is_not(running: Running):
    large = b"\x7a" + _varint(1_100_000) + b"x" * 1_100_000  # an unknown field
    error, status = await refusal(running.raw("AssembleContext")(large))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert info(status).metadata == {"limit": "request_bytes", "max": "1048576"}
    stub = history_pb2_grpc.HistoryServiceStub(running.channel)
    request = history_pb2.ImportHistoryRequest(
        user=types_pb2.UserRef(tenant_id="acme", user_id="u"), request_id=turn("t").request_id
    )
    for index in range(40):
        session = request.sessions.add(session_id=f"s{index}")
        session.start_time.GetCurrentTime()
        added = session.turns.add(turn_id="t", role="ROLE_USER")
        added.occur_time.GetCurrentTime()
        added.contents.add(text="x" * 40_000)
    assert 1 << 20 < request.ByteSize() < 4 << 20
    await stub.ImportHistory(request)


async def test_the_transport_refuses_over_four_mebibytes_and_over_eight_kibibytes_of_metadata(
    running: Running,
):
    error, status = await refusal(running.raw("AssembleContext")(b"x" * ((4 << 20) + 1)))
    assert (error.code(), status) == (grpc.StatusCode.RESOURCE_EXHAUSTED, None)
    await running.stub.AssembleContext(turn("t"), metadata=(("x-note", "n" * 7_000),))
    error, _ = await refusal(running.stub.AssembleContext(turn("t"), metadata=(("x-note", "n" * 9_000),)))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_our_default_deadline_is_told_with_details(running: Running):
    error, status = await refusal(running.stub.AssembleContext(turn("wait")))
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert info(status).metadata == {"deadline_ms": "2000"}
    assert running.servicer.cancelled.is_set()


async def test_the_clients_deadline_stops_the_work_here(running: Running):
    error, _ = await refusal(running.stub.AssembleContext(turn("wait"), timeout=0.2))
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    await asyncio.wait_for(running.servicer.cancelled.wait(), 2)
    await asyncio.sleep(0)
    assert running.servicer.calls[0].outcome in {"DEADLINE_EXCEEDED", "CANCELLED"}


async def test_a_cancelled_call_stops_the_work_here(running: Running):
    call = running.stub.AssembleContext(turn("wait"), timeout=9)
    await running.until_called(1)
    call.cancel()
    await asyncio.wait_for(running.servicer.cancelled.wait(), 2)
    await asyncio.sleep(0)
    assert running.servicer.calls[0].outcome == "CANCELLED"


async def test_more_calls_than_allowed_are_refused_early_and_health_still_answers(running: Running):
    waiting = [running.stub.AssembleContext(turn("wait"), timeout=9) for _ in range(4)]
    await running.until_called(4)
    error, status = await refusal(running.stub.AssembleContext(turn("t"), timeout=9))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert info(status).reason == "OVERLOADED"
    assert status is not None
    assert error_details_pb2.RetryInfo.FromString(status.details[2].value).retry_delay.ToTimedelta()
    health = health_pb2_grpc.HealthStub(running.channel)
    assert (
        await health.Check(health_pb2.HealthCheckRequest())
    ).status == health_pb2.HealthCheckResponse.SERVING
    for call in waiting:
        call.cancel()


async def test_an_unknown_method_is_unimplemented(running: Running):
    error, status = await refusal(running.raw("DropTables")(b""))
    assert (error.code(), status) == (grpc.StatusCode.UNIMPLEMENTED, None)


async def test_health_is_told_overall_and_per_service(running: Running):
    health = health_pb2_grpc.HealthStub(running.channel)
    for service in ("", "muniment.v1.ContextService", "muniment.v1.HistoryService"):
        answer = await health.Check(health_pb2.HealthCheckRequest(service=service))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    assert set((await health.List(health_pb2.HealthListRequest())).statuses) == {
        "",
        "muniment.v1.ContextService",
        "muniment.v1.HistoryService",
    }
    error, status = await refusal(health.Check(health_pb2.HealthCheckRequest(service="nobody")))
    assert (error.code(), info(status).reason) == (grpc.StatusCode.NOT_FOUND, "NOT_FOUND")


async def test_health_follows_the_storage_and_the_drain(running: Running):
    watch = health_pb2_grpc.HealthStub(running.channel).Watch(health_pb2.HealthCheckRequest())
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
    running.storage["ready"] = False
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
    running.storage["ready"] = True
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
    stopping = asyncio.create_task(running.server.stop())
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
    assert await watch.read() is grpc.aio.EOF
    await stopping


async def test_malformed_health_and_reflection_requests_get_the_fixed_text_too(running: Running):
    unary_stream: Any = running.channel.unary_stream
    stream_stream: Any = running.channel.stream_stream
    watch = unary_stream("/grpc.health.v1.Health/Watch")(b"\xff")
    error, status = await refusal(watch.read())
    assert (error.code(), info(status).reason) == (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_REQUEST")
    path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    reflect = stream_stream(path)
    error, status = await refusal(reflect(iter([b"\xff"])).read())
    assert (error.code(), info(status).reason) == (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_REQUEST")


async def test_reflection_lists_the_services_and_gives_their_files(running: Running):
    requests = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="muniment.v1.ContextService"),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="no.such.Thing"),
    ]
    stub = reflection_pb2_grpc.ServerReflectionStub(running.channel)
    listed, files, missing = [answer async for answer in stub.ServerReflectionInfo(iter(requests))]
    assert {service.name for service in listed.list_services_response.service} == {
        "muniment.v1.ContextService",
        "muniment.v1.HistoryService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    }
    assert any(b"AssembleContext" in file for file in files.file_descriptor_response.file_descriptor_proto)
    assert missing.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


async def test_an_open_reflection_stream_does_not_hold_up_the_drain(running: Running):
    stream = reflection_pb2_grpc.ServerReflectionStub(running.channel).ServerReflectionInfo()
    await stream.write(reflection_pb2.ServerReflectionRequest(list_services=""))
    await stream.read()
    async with asyncio.timeout(3):
        await running.server.stop()


async def test_a_taken_address_is_refused_with_the_remedy(running: Running):
    async def ready() -> bool:
        return True

    second = Server(ServerOptions(ListenAddress("127.0.0.1", running.port)), [], ready)
    with pytest.raises(AddressUnavailableError, match="choose another address with --listen"):
        await second.start()


async def test_a_method_that_nobody_serves_stops_the_server_from_being_built():
    async def ready() -> bool:
        return True

    descriptor = context_pb2.DESCRIPTOR.services_by_name["ContextService"]
    with pytest.raises(
        TypeError, match=r"has no method CountTokens, which muniment.v1.ContextService declares"
    ):
        Server(ServerOptions(ListenAddress("127.0.0.1", 0)), [Service(descriptor, _OnlyTwo())], ready)


class _OnlyTwo:
    AssembleContext = ContextServicer.AssembleContext
    ExplainContext = ContextServicer.ExplainContext


def _varint(number: int) -> bytes:
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])
