"""Whatever is raised leaves as a typed status without the exception's text."""

import asyncio
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from structlog.testing import capture_logs

from gateway.deadline import Deadline
from gateway.errors import InvalidArgument, NotFound, Reason, Unavailable
from gateway.server.call import Call, Method
from gateway.server.failures import errors
from storage import errors as stored

CANARY = "canary-7f3a"


def failing(error: BaseException) -> Any:
    async def handler(_: Call) -> bytes:
        raise error

    return handler


async def outcome(error: BaseException, method: Method, call: Call) -> Any:
    with pytest.raises(grpc.aio.AbortError):
        await errors(method, failing(error))(call)
    return call.context


def error_info(status: Any) -> error_details_pb2.ErrorInfo:
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    return info


class PanicError(BaseException):
    """Like the panics of extension modules, which are no Exceptions."""


async def test_answers_pass_untouched(method, make_call, context):
    async def handler(_: Call) -> bytes:
        return b"answer"

    call = make_call()
    assert await errors(method, handler)(call) == b"answer"
    assert (call.outcome, context.aborted) == ("OK", [])


@pytest.mark.parametrize(
    "error",
    [
        ValueError(CANARY),
        RuntimeError(f"postgres://u:{CANARY}@db/x"),
        KeyError(CANARY),
        stored.StorageError(CANARY),
        PanicError(CANARY),
        ExceptionGroup(CANARY, [ValueError(CANARY)]),
    ],
)
async def test_unknown_errors_are_internal_under_an_incident_and_nothing_of_their_text_gets_out(
    error, method, make_call
):
    call = make_call()
    with capture_logs() as logs:
        context = await outcome(error, method, call)
    info = error_info(context.status)
    assert context.aborted[0][0] is grpc.StatusCode.INTERNAL
    assert (info.reason, info.domain) == ("INTERNAL", "muniment.v1")
    assert CANARY not in str(context.status) + context.aborted[0][1] + str(logs)
    assert logs[0]["incident"] == info.metadata["incident"]
    assert logs[0]["log_level"] == "error"
    assert (call.outcome, call.reason) == ("INTERNAL", "INTERNAL")


async def test_a_logged_incident_names_types_and_places_of_the_whole_chain(method, make_call):
    error = RuntimeError(CANARY)
    error.__cause__ = KeyError(CANARY)
    with capture_logs() as logs:
        await outcome(error, method, make_call())
    assert logs[0]["error_types"] == ["builtins.RuntimeError", "builtins.KeyError"]
    assert any(frame.startswith("test_failures.py:") for frame in logs[0]["frames"])


@pytest.mark.parametrize(
    ("error", "code", "reason", "metadata"),
    [
        (stored.NotFound(), "NOT_FOUND", "NOT_FOUND", {}),
        (stored.AlreadyExists("turn_id"), "ALREADY_EXISTS", "TURN_ID_REUSED", {"field": "turn.turn_id"}),
        (stored.RequestIdReused(), "ALREADY_EXISTS", "REQUEST_ID_REUSED", {"field": "request_id"}),
        (stored.EtagMismatch("W/18"), "ABORTED", "ETAG_MISMATCH", {"field": "etag", "etag": "W/18"}),
        (
            stored.LimitExceeded("current facts per user", 4096),
            "RESOURCE_EXHAUSTED",
            "LIMIT_EXCEEDED",
            {"limit": "current_facts_per_user", "max": "4096"},
        ),
        (stored.StorageUnavailable(), "UNAVAILABLE", "STORAGE_UNAVAILABLE", {}),
        (stored.StorageFull(), "RESOURCE_EXHAUSTED", "STORAGE_FULL", {}),
        (stored.Erased(), "FAILED_PRECONDITION", "ERASED", {}),
        (TimeoutError(), "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", {"deadline_ms": "5000"}),
        (NotFound(), "NOT_FOUND", "NOT_FOUND", {}),
        (Unavailable(Reason.SHUTTING_DOWN, "later"), "UNAVAILABLE", "SHUTTING_DOWN", {}),
    ],
)
async def test_known_errors_have_their_code_reason_and_metadata(
    error, code, reason, metadata, method, make_call
):
    call = make_call()
    context = await outcome(error, method, call)
    info = error_info(context.status)
    assert context.aborted[0][0].name == code
    assert (info.reason, dict(info.metadata)) == (reason, metadata)
    assert (call.outcome, call.reason) == (code, reason)


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (stored.EtagMismatch("3"), "warning"),
        (stored.StorageUnavailable(), "warning"),
        (InvalidArgument.of("turn", f"is wrong {CANARY}"), "info"),
    ],
)
async def test_conflicts_are_warnings_and_callers_mistakes_are_information(error, level, method, make_call):
    with capture_logs() as logs:
        await outcome(error, method, make_call())
    assert logs[0]["log_level"] == level
    assert CANARY not in str(logs)


async def test_a_cancelled_call_stays_cancelled_and_is_not_answered(method, make_call, context):
    call = make_call()

    async def wait(_: Call) -> bytes:
        await asyncio.sleep(30)
        return b""

    task = asyncio.create_task(errors(method, wait)(call))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (call.outcome, context.aborted) == ("CANCELLED", [])


async def test_a_call_cancelled_at_its_deadline_counts_as_deadline_exceeded(method, make_call):
    call = make_call(deadline=Deadline.after(0.0))

    async def wait(_: Call) -> bytes:
        await asyncio.sleep(30)
        return b""

    task = asyncio.create_task(errors(method, wait)(call))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert call.outcome == "DEADLINE_EXCEEDED"


async def test_a_cancellation_that_leaked_from_another_task_is_answered(method, make_call):
    context = await outcome(asyncio.CancelledError(), method, make_call())
    assert context.aborted[0][0] is grpc.StatusCode.INTERNAL


async def test_interrupts_are_left_alone(method, make_call, context):
    with pytest.raises(SystemExit):
        await errors(method, failing(SystemExit(3)))(make_call())
    assert context.aborted == []


async def test_an_abort_by_grpc_itself_is_noted_with_its_code(method, make_call, context):
    context.aborted.append((grpc.StatusCode.UNIMPLEMENTED, ""))
    call = make_call()
    with pytest.raises(grpc.aio.AbortError):
        await errors(method, failing(grpc.aio.AbortError()))(call)
    assert call.outcome == "UNIMPLEMENTED"


async def test_a_log_that_cannot_be_written_changes_no_answer(method, make_call, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(CANARY)

    monkeypatch.setattr("gateway.server.failures._log.log", refuse, raising=False)
    context = await outcome(ValueError(CANARY), method, make_call())
    assert CANARY not in str(context.status)
