"""What is counted: calls, tokens, degradations, and the depth of the trace queue."""

from gateway.telemetry.state import STATE, QueueDepth


def record_call(method: str, code: str, seconds: float) -> None:
    """One call has ended with that gRPC code."""
    if STATE.instruments is not None:
        attributes = {"rpc.method": method, "rpc.response.status_code": code}
        STATE.instruments.calls.add(1, attributes)
        STATE.instruments.call_duration.record(seconds, attributes)


def count_tokens(section: str, tokens: int) -> None:
    """A section of a prompt took that many of the model's tokens."""
    if STATE.instruments is not None:
        STATE.instruments.tokens.record(tokens, {"muniment.section": section})


def count_degradation(section: str, reason: str) -> None:
    """A prompt had to do without something. Both are names of enum values."""
    if STATE.instruments is not None:
        STATE.instruments.degradations.add(1, {"muniment.section": section, "muniment.reason": reason})


def observe_trace_queue(depth: QueueDepth) -> None:
    """Watch a queue of traces that wait to be made durable. Asked when metrics are collected, on another thread."""
    STATE.queues.append(depth)
