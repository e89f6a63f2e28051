"""One run: people, traffic, a fault, its end, and what can be read back; all of it recorded."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.faults.gateway_client import GatewayClient
from benchmarks.faults.outcomes import Outcome, Record, Timeline
from benchmarks.faults.people import Person
from benchmarks.faults.preparing import prepare
from benchmarks.faults.prescriptions import NOT_DURABLE, Rules
from benchmarks.faults.reading_back import drained, read_back
from benchmarks.faults.traffic import Load, Traffic

_PATIENCE: Final = 15.0
_DRAIN_PATIENCE: Final = 90.0
"""For spools, which leave most of the time to those who ask now."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is done to the stores, and what is then right. `begin` and `end` return once it is so."""

    name: str
    begin: Callable[[], Awaitable[None]]
    end: Callable[[], Awaitable[None]]
    rules: Rules


@dataclass(frozen=True, slots=True)
class Spans:
    """Seconds of each part of a run."""

    warm_up: float = 3.0
    before: float = 5.0
    during: float = 100.0
    after: float = 8.0


@dataclass(frozen=True, slots=True)
class Scale:
    """How much: people beside those whose ids collide in each tenant, load, spans, and how many prompts a second must
    be answered before the fault for the run to count."""

    more_people: int = 9
    load: Load = field(default_factory=Load)
    spans: Spans = field(default_factory=Spans)
    floor: float = 100.0


async def recorded(
    fault: Fault, gateways: Sequence[GatewayClient], people: Sequence[Person], scale: Scale
) -> Record:
    """The record of a run, unjudged."""
    await prepare(gateways[0], people)
    traffic = Traffic(people, gateways, scale.load)
    await traffic.furnish()
    traffic.start()
    try:
        timeline = await _through(fault, scale.spans)
    finally:
        await traffic.stop(_PATIENCE)
    await drained(gateways[0], _spooled(traffic.outcomes), _DRAIN_PATIENCE)
    stored = await read_back(gateways[0], people)
    return Record(tuple(people), timeline, tuple(traffic.outcomes), stored)


def _spooled(outcomes: Sequence[Outcome]) -> frozenset[str]:
    """The traces that were not durable when their answers left."""
    return frozenset(
        one.answer.trace
        for one in outcomes
        if one.answer is not None and any(warning.startswith(NOT_DURABLE) for warning in one.answer.warnings)
    )


async def _through(fault: Fault, spans: Spans) -> Timeline:
    await asyncio.sleep(spans.warm_up)
    steady = time.monotonic()
    await asyncio.sleep(spans.before)
    began = time.monotonic()
    try:
        await fault.begin()
        await asyncio.sleep(spans.during)
    finally:
        ended = asyncio.ensure_future(fault.end())
        # A run that is cancelled still leaves the stores as it found them.
        await asyncio.shield(ended)
    healed = time.monotonic()
    await asyncio.sleep(spans.after)
    return Timeline(steady, began, healed, time.monotonic())


async def nothing() -> None:
    """The beginning and end of no fault."""
