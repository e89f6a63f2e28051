"""Times calls in closed loops: each caller sends its next call when it has the answer to the last."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Step: TypeAlias = "Callable[[], Coroutine[Any, Any, object]]"
"""One call of one caller."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The latencies of some calls in milliseconds, sorted, and the seconds in which they were made."""

    latencies: Sequence[float]
    seconds: float

    @property
    def p50(self) -> float:
        """The median, ms."""
        return quantile(self.latencies, 0.5)

    @property
    def p99(self) -> float:
        """The 99th percentile, ms."""
        return quantile(self.latencies, 0.99)

    @property
    def rate(self) -> float:
        """Calls per second."""
        return len(self.latencies) / self.seconds


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share (0 to 1) of the sorted values does not exceed."""
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


async def closed_loop(callers: Sequence[Step], calls: int) -> Sample:
    """`calls` calls in all, shared evenly by the callers, which run at once."""
    latencies: list[float] = []

    async def caller(step: Step, count: int) -> None:
        for _ in range(count):
            latencies.append(await timed(step))  # noqa: PERF401 - the list is shared

    started = time.perf_counter()
    await asyncio.gather(*(caller(step, calls // len(callers)) for step in callers))
    return Sample(sorted(latencies), time.perf_counter() - started)


async def alternating(variants: Sequence[Step], calls: int) -> list[Sample]:
    """`calls` calls of each variant, by one caller, one call of each in turn: what else the machine does meets all."""
    latencies: list[list[float]] = [[] for _ in variants]
    for at in range(calls):
        for offset in range(len(variants)):
            # Who comes first rotates too: the first after another's call finds colder caches.
            place = (at + offset) % len(variants)
            latencies[place].append(await timed(variants[place]))
    return [Sample(sorted(found), sum(found) / 1e3) for found in latencies]


async def timed(step: Step) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    await step()
    return (time.perf_counter() - started) * 1e3
