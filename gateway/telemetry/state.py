"""Whether telemetry is on, and its instruments: one global, so that "off" is one look at a variable."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, Meter
    from opentelemetry.trace import Tracer

SCOPE = "muniment"


class Reading(Protocol):
    """A number as it is now. Asked when metrics are collected, on another thread."""

    def __call__(self) -> int: ...


GAUGES: "dict[str, tuple[str, str]]" = {
    "muniment.trace.queue": ("{trace}", "Traces that wait to be made durable"),
    "muniment.spool.depth": ("{trace}", "Traces on the local disk that wait for the ledger"),
    "muniment.spool.bytes": ("By", "What the spool's records take of it"),
    "muniment.spool.refused": ("{trace}", "Traces on the local disk that the ledger refused"),
    "muniment.redis.available": ("1", "1 while no server of Redis is given up, 0 otherwise"),
    "muniment.redis.unreadable": (
        "{value}",
        "Values in Redis that did not open and counted as none, since the start",
    ),
    "muniment.epochs.untold": ("{change}", "Changes that other gateways were not told of yet"),
    "muniment.database.connections": ("{connection}", "Connections to the database in use"),
}
"""What is read when metrics are collected, by name, with unit and description."""


@dataclass(frozen=True, slots=True)
class Instruments:
    """What is measured. Durations are in seconds."""

    tracer: "Tracer"
    meter: "Meter"
    call_duration: "Histogram"
    calls: "Counter"
    stage_duration: "Histogram"
    tokens: "Histogram"
    degradations: "Counter"
    confirmations: "Counter"


class State:
    """The instruments while telemetry is on, and what to read for the gauges, which may be named before it is."""

    instruments: Instruments | None = None
    readings: "dict[str, list[Reading]]"

    def __init__(self) -> None:
        self.readings = {}

    def total(self, gauge: str) -> int | None:
        """The sum of a gauge's readings now; None where there is nothing to read."""
        readings = self.readings.get(gauge)
        return sum([reading() for reading in readings]) if readings else None


STATE = State()


def enabled() -> bool:
    """Whether spans and metrics are made."""
    return STATE.instruments is not None
