"""The telemetry middleware: one span and one measurement for each call, with the status the client got."""

import time
from collections.abc import Iterable

from gateway import telemetry
from gateway.server.call import Call, Handler, Method


def tracing(method: Method, following: Handler) -> Handler:
    """Nothing at all where telemetry is off."""
    if not telemetry.enabled():
        return following
    name = method.path[1:]

    async def trace(call: Call) -> bytes:
        started = time.perf_counter()
        # Until the errors middleware or the end says otherwise, the call was cut off from outside.
        with telemetry.call_span(name, _texts(call.context.invocation_metadata() or ())) as span:
            try:
                return await following(call)
            finally:
                span.end(call.outcome, call.reason)
                telemetry.record_call(name, call.outcome, time.perf_counter() - started)

    return trace


def _texts(metadata: Iterable[object]) -> dict[str, str]:
    """The text entries, which may hold a trace context."""
    pairs = (entry for entry in metadata if isinstance(entry, tuple) and len(entry) == 2)
    return {key: value for key, value in pairs if isinstance(value, str)}
