"""How much of the campaign is run."""

from dataclasses import dataclass
from typing import Final

from benchmarks.faults.running import Scale, Spans
from benchmarks.faults.traffic import Load


@dataclass(frozen=True, slots=True)
class Sizes:
    """`durable` is the traffic of kills and unsure stores: more writes, since those are counted."""

    faults: Scale
    durable: Scale
    mutants: Scale
    gateway_kills: int
    server_kills: int


# 10,000 prompts in each fault, at more than a hundred a second.
FULL: Final = Sizes(
    faults=Scale(9, Load(150.0, 12.0), Spans(1.5, 3.0, 67.0, 6.5), floor=100.0),
    durable=Scale(1, Load(20.0, 20.0), Spans(1.0, 2.0, 30.0, 1.0), floor=10.0),
    mutants=Scale(3, Load(60.0, 30.0), Spans(0.5, 1.5, 3.0, 1.0), floor=20.0),
    gateway_kills=200,
    server_kills=50,
)
QUICK: Final = Sizes(
    faults=Scale(1, Load(60.0, 12.0), Spans(1.0, 2.0, 5.0, 6.0), floor=20.0),
    durable=Scale(1, Load(30.0, 30.0), Spans(1.0, 2.0, 5.0, 2.0), floor=10.0),
    mutants=Scale(1, Load(60.0, 30.0), Spans(0.5, 1.5, 3.0, 1.0), floor=10.0),
    gateway_kills=6,
    server_kills=4,
)
