"""What the proxy can do to a connection, as values that go over the control pipe."""

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Self


class Gate(StrEnum):
    """What becomes of connections, new and old."""

    OPEN = "open"
    REFUSED = "refused"
    """Nobody listens, and what was connected is reset."""
    SILENT = "silent"
    """Connections are accepted, and no byte passes in either direction until the gate opens."""
    RESET = "reset"
    """Connections are accepted and reset at once."""


@dataclass(frozen=True, slots=True)
class Toxics:
    """One direction. Each chunk waits `latency_ms`, passes at `bytes_per_second`, and after `cut_after` bytes of a
    connection both its sides are reset. None: without that limit."""

    latency_ms: float = 0.0
    bytes_per_second: float | None = None
    cut_after: int | None = None


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a proxy does: `up` on the way to the server, `down` on the way back."""

    gate: Gate = Gate.OPEN
    up: Toxics = field(default_factory=Toxics)
    down: Toxics = field(default_factory=Toxics)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Self:
        """From such a line."""
        read = json.loads(line)
        return cls(Gate(read["gate"]), Toxics(**read["up"]), Toxics(**read["down"]))


CLEAR = Conditions()
REFUSED = Conditions(Gate.REFUSED)
SILENT = Conditions(Gate.SILENT)
RESET = Conditions(Gate.RESET)


def slow(latency_ms: float) -> Conditions:
    """So many milliseconds later in each direction."""
    return Conditions(Gate.OPEN, Toxics(latency_ms), Toxics(latency_ms))
