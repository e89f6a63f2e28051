"""What is counted: calls, tokens, degradations, confirmations, and what waits in the queues."""

from gateway.telemetry.state import GAUGES, STATE, Reading


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


def count_confirmation(source: str) -> None:
    """Epochs were confirmed by that source, the name of an enum value; `NOBODY` where nobody could say."""
    if STATE.instruments is not None:
        STATE.instruments.confirmations.add(1, {"muniment.source": source})


def observe(gauge: str, reading: Reading) -> None:
    """Watch a number under the name of one of `GAUGES`. Several of one name are added up."""
    if gauge not in GAUGES:
        raise ValueError(f"no gauge is called {gauge}")
    STATE.readings.setdefault(gauge, []).append(reading)


def observe_trace_queue(depth: Reading) -> None:
    """Watch a queue of traces that wait to be made durable."""
    observe("muniment.trace.queue", depth)
