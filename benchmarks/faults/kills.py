"""Faults that are about what is stored: SIGKILL again and again, and stores that say less than they have done."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from benchmarks.faults.gateways import Gateway
from benchmarks.faults.prescriptions import ANYTHING, NORMAL, UNAVAILABLE, Rules
from benchmarks.faults.restarting import Server, restart
from benchmarks.faults.running import Fault, nothing
from benchmarks.progress import counter

_SEED: Final = 7
_SHORTEST, _LONGEST = 0.05, 0.3
"""Seconds of traffic before a kill."""

CALM: Final = Rules(NORMAL, settle=0.0, recovery=0.0)


def server_kills(name: str, count: int, server: Server, *, forgets_slots: bool = False) -> Fault:
    """So many kills of one server."""
    return _kills(name, [(server.kill, partial(restart, server))] * count, forgets_slots=forgets_slots)


def gateway_kills(count: int, gateways: Sequence[Gateway]) -> Fault:
    """So many kills of gateways, which take turns; the others serve meanwhile."""
    chosen = [gateways[number % len(gateways)] for number in range(count)]
    return _kills("gateway_kills", [(gateway.kill, gateway.start) for gateway in chosen])


def all_gateways_die(gateways: Sequence[Gateway]) -> Fault:
    """All gateways are killed at once, and started again at the end."""

    async def begin() -> None:
        for gateway in gateways:
            await asyncio.to_thread(gateway.kill)

    async def end() -> None:
        for gateway in gateways:
            await asyncio.to_thread(gateway.start)

    return Fault("gateways_die", begin, end, Rules(ANYTHING, settle=0.0, recovery=10.0))


def unsure() -> Fault:
    """No fault but the one within: calls of the stores that are done and reported as timed out."""
    normal = NORMAL.with_failures(UNAVAILABLE)
    return Fault("unsure", nothing, nothing, replace(CALM, during=ANYTHING, normal=normal))


def no_fault() -> Fault:
    """Nothing is done."""
    return Fault("none", nothing, nothing, CALM)


def _kills(
    name: str,
    steps: Sequence[tuple[Callable[[], object], Callable[[], object]]],
    *,
    forgets_slots: bool = False,
) -> Fault:
    """Kill and restart at moments that chance chooses from a seed; lasts until the last one serves again."""
    chance = random.Random(_SEED)

    async def through() -> None:
        step = counter(name, len(steps))
        for kill, start in steps:
            await asyncio.sleep(chance.uniform(_SHORTEST, _LONGEST))
            await asyncio.to_thread(kill)
            await asyncio.to_thread(start)
            step()

    return Fault(name, through, nothing, Rules(ANYTHING, 0.0, 10.0, forgets_slots=forgets_slots))
