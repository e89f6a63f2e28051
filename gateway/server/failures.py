"""The errors middleware: whatever goes wrong leaves as a typed status, and never as an exception's text."""

import asyncio
import contextlib
import logging
import secrets
import traceback
from pathlib import PurePath
from typing import Any

import grpc
import structlog

from gateway.errors import GatewayError, Internal, Outcome, Reason
from gateway.server.call import Call, Handler, Method
from gateway.server.status import abort
from gateway.server.translate import translate

_log = structlog.stdlib.get_logger("muniment.server")

# A conflict or a full house is no fault of the server, and a wrong request none of anybody's but the caller's.
_LEVELS = {
    Outcome.INTERNAL: "error",
    Outcome.UNAVAILABLE: "warning",
    Outcome.ABORTED: "warning",
    Outcome.RESOURCE_EXHAUSTED: "warning",
    Outcome.DEADLINE_EXCEEDED: "warning",
}
_NUMBERS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_NEVER_HANDLED = (KeyboardInterrupt, SystemExit, GeneratorExit)


def errors(method: Method, following: Handler) -> Handler:
    """Turn every failure into a status with its details, note it on the call, and log it without content."""

    async def handle(call: Call) -> bytes:
        try:
            return await following(call)
        except grpc.aio.AbortError:
            # Already answered by grpc itself; the status is the context's.
            call.outcome = call.context.code().name
            raise
        except _NEVER_HANDLED:
            raise
        except BaseException as error:
            if _is_cancellation(error):
                call.outcome = "DEADLINE_EXCEEDED" if call.deadline.expired else "CANCELLED"
                raise
            failure = explain(error, method.path, call.deadline.seconds)
            call.outcome, call.reason = failure.outcome.value, failure.reason.value
            await abort(call.context, failure)
            raise

    return handle


def explain(error: BaseException, method: str, allowed_seconds: float) -> GatewayError:
    """The error for the client, logged. Unknown ones become INTERNAL under an incident id that the log repeats."""
    failure = translate(error, allowed_seconds)
    if failure is not None:
        level = _LEVELS.get(failure.outcome, "info")
        _note(level, method, failure)
        return failure
    incident = secrets.token_hex(8)
    failure = Internal(
        Reason.INTERNAL,
        f"a fault of the server: its log has the details under incident {incident}",
        {"incident": incident},
    )
    # The exception's text may hold a caller's content or a password: only its type and place are written down.
    _note("error", method, failure, incident=incident, **describe(error))
    return failure


def describe(error: BaseException) -> dict[str, Any]:
    """An exception without its text: the types of it and its causes, and the lines it came through."""
    kinds: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(kinds) < 5:
        kinds.append(f"{type(cause).__module__}.{type(cause).__qualname__}")
        cause = cause.__cause__ or cause.__context__
    frames = traceback.extract_tb(error.__traceback__)[-12:]
    return {
        "error_types": kinds,
        "frames": [f"{PurePath(f.filename).name}:{f.lineno} {f.name}" for f in frames],
    }


def _note(level: str, method: str, failure: GatewayError, **more: Any) -> None:
    # A log that cannot be written must not turn into an answer that grpc makes of the exception.
    with contextlib.suppress(Exception):
        _log.log(
            _NUMBERS[level],
            "call_failed",
            method=method,
            code=failure.outcome.value,
            reason=failure.reason.value,
            **more,
        )


def _is_cancellation(error: BaseException) -> bool:
    """Whether the call itself was cancelled. A CancelledError that leaked out of another task is a fault: grpc would
    answer nothing at all and leave the client waiting."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
