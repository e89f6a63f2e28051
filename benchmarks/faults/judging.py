"""One judged run: gateways of its own, people of its own, traffic, fault, verdict."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from benchmarks.faults.checker import Expectations, check, require_floor
from benchmarks.faults.gateway_client import clients
from benchmarks.faults.gateways import PRODUCT, Gateway
from benchmarks.faults.launching import Launcher, Spawner
from benchmarks.faults.outcomes import Record
from benchmarks.faults.people import people
from benchmarks.faults.running import Fault, Scale, recorded
from benchmarks.faults.stack import Stack
from benchmarks.faults.verdict import Verdict

MakeFault = Callable[[Sequence[Gateway]], Fault]
"""A fault may need the gateways, such as one that kills them."""

_runs = count(1)


@dataclass(frozen=True, slots=True)
class Judged:
    """What was recorded, what is said of it, and what the gateways logged as faults of their own."""

    record: Record
    verdict: Verdict
    logged_faults: Counter[str] = field(default_factory=Counter)

    @property
    def acknowledged(self) -> int:
        """How many writes were, prompts with their traces among them."""
        return sum(one.ok for one in self.record.outcomes)


async def judged(
    stack: Stack,
    make: MakeFault,
    scale: Scale,
    program: Sequence[str] = PRODUCT,
    launcher: Launcher | None = None,
) -> Judged:
    """Run it. Raises `FloorMissed`, `GatewayFailed`, `grpc.RpcError`."""
    with stack.gateways(program, launcher or Spawner()) as gateways:
        async with clients(gateway.address for gateway in gateways) as connected:
            fault = make(gateways)
            somebody = people(next(_runs), scale.more_people)
            record = await recorded(fault, connected, somebody, scale)
    verdict = check(record, Expectations(fault.rules, scale.load.deadline, len(gateways)))
    require_floor(verdict, scale.floor, felt=fault.rules.during != fault.rules.normal)
    return Judged(record, verdict, sum((gateway.logged_faults() for gateway in gateways), Counter()))
