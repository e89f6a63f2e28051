"""Whether telemetry is on, and its instruments: one global, so that "off" is one look at a variable."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, Meter
    from opentelemetry.trace import Tracer

SCOPE = "muniment"


class QueueDepth(Protocol):
    """How many traces wait to be made durable."""

    def __call__(self) -> int: ...


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


class State:
    """The instruments while telemetry is on, and the queues to watch, which may be named before it is."""

    instruments: Instruments | None = None
    queues: "list[QueueDepth]"

    def __init__(self) -> None:
        self.queues = []

    def depths(self) -> Iterable[int]:
        """The queues' depths now."""
        return [queue() for queue in self.queues]


STATE = State()


def enabled() -> bool:
    """Whether spans and metrics are made."""
    return STATE.instruments is not None
