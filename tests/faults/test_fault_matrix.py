"""A few faults of Redis, Postgres and the gateway, a few seconds each, with the checker of `make faults` and mutants.

How often an answer is as prescribed is a figure of `make faults`; here all that has no exceptions must hold, and most
answers must be right.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from benchmarks.faults import catching, kills, matrix
from benchmarks.faults.catching import MUTANTS, Mutant
from benchmarks.faults.judging import Judged, MakeFault, judged
from benchmarks.faults.nursery import Nursery, running_nursery
from benchmarks.faults.running import Fault, Scale, Spans
from benchmarks.faults.stack import Stack, StackOptions, running_stack
from benchmarks.faults.traffic import Load
from benchmarks.faults.verdict import SHARES, Rule

# One after the other: each worker would else have servers and gateways of its own.
pytestmark = pytest.mark.xdist_group("faults")

SPANS = Spans(warm_up=0.5, before=1.0, during=2.5, after=1.5)
SCALE = Scale(more_people=1, load=Load(40.0, 15.0), spans=SPANS, floor=5.0)
TIMELY = frozenset({*SHARES, Rule.LATE})
"""Rules that a slow machine breaks by itself."""
SHOWN = {mutant.name: mutant for mutant in MUTANTS if mutant.name in ("silent", "untraced")}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("faults") / "stack", StackOptions(gateways=1)) as made:
        yield made


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with running_nursery() as made:
        yield made


def fault_of(stack: Stack, name: str) -> Fault:
    return next(
        fault for fault in (*matrix.redis_faults(stack), *matrix.sql_faults(stack)) if fault.name == name
    )


def told(done: Judged) -> str:
    return "\n".join([*done.verdict.findings.lines(3), *done.logged_faults])


async def holds(stack: Stack, make: MakeFault, scale: Scale, nursery: Nursery) -> Judged:
    done = await judged(stack, make, scale, launcher=nursery)
    assert done.verdict.findings.broken <= TIMELY, told(done)
    return done


@pytest.mark.parametrize("name", ["redis_paused", "sql_refused", "sql_killed"])
async def test_under_a_fault_answers_are_as_prescribed_and_nothing_is_lost(
    stack: Stack, nursery: Nursery, name: str
):
    fault = fault_of(stack, name)
    done = await holds(stack, lambda _: fault, SCALE, nursery)
    assert done.verdict.right > done.verdict.calls / 2, told(done)


async def test_nothing_acknowledged_is_lost_when_gateways_are_killed(stack: Stack, nursery: Nursery):
    scale = replace(SCALE, spans=replace(SPANS, during=0.0))
    two = replace(stack, options=StackOptions(gateways=2))
    await holds(two, lambda gateways: kills.gateway_kills(2, gateways), scale, nursery)


@pytest.mark.parametrize("mutant", SHOWN.values(), ids=SHOWN)
async def test_the_checker_catches_a_gateway_that_breaks_a_promise(stack: Stack, mutant: Mutant):
    assert await catching.caught(stack, mutant, SCALE)
