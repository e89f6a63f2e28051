"""OpenTelemetry spans and metrics: how long the stages take and how calls end, never what they say.

Off unless an SDK provider is set up or `configure` was called; then every function here returns at once. Names,
counts and durations go out; no text, id of a user, key or value of a caller ever does. The audit trace is another
product, never sampled; the two are linked by their ids (`current_trace_id`, `link_trace`).
"""

from gateway.telemetry.metrics import (
    count_confirmation,
    count_degradation,
    count_tokens,
    observe,
    observe_trace_queue,
    record_call,
)
from gateway.telemetry.setup import ExporterMissingError, configure, shutdown
from gateway.telemetry.spans import CallSpan, call_span, current_trace_id, link_trace, run, stage
from gateway.telemetry.state import enabled

__all__ = [
    "CallSpan",
    "ExporterMissingError",
    "call_span",
    "configure",
    "count_confirmation",
    "count_degradation",
    "count_tokens",
    "current_trace_id",
    "enabled",
    "link_trace",
    "observe",
    "observe_trace_queue",
    "record_call",
    "run",
    "shutdown",
    "stage",
]
