"""`python -m benchmarks.latency`: AssembleContext against an echo of the same sizes, and its growth.

Starts its own servers on a folder that must lie on a disk, since the trace of every call is synced to it. Writes
`benchmarks/out/latency.json`. Ends with 0 when it could measure, whatever the figures are.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import grpc

from benchmarks import growth, seeding
from benchmarks.callers import Caller
from benchmarks.disk import NotDurableError, require_disk
from benchmarks.figures import OUT, Bar, Figure, Side, publish
from benchmarks.process import Connection, ServerFailed, connected, running_server
from benchmarks.progress import say
from benchmarks.timing import Sample, closed_loop
from gateway.server import run

ROUNDS: Final = 11
CALLERS: Final = (1, 16)
CALLS: Final = {1: 150, 16: 1_200}
WARM_UP: Final = 400

_LATENCY_BAR: Final = Bar(Side.AT_MOST, 2.5)
_RATE_BAR: Final = Bar(Side.AT_LEAST, 0.35)

Pair = tuple[Sample, Sample]
"""The echo and AssembleContext, right after each other."""


async def against_echo(connection: Connection) -> list[Figure]:
    """One caller and sixteen, each a user of its own."""
    callers = await _callers(connection, max(CALLERS))
    answer = await callers[0].assemble()
    await connection.echo_with(answer)
    say("warm-up")
    await closed_loop([caller.assemble for caller in callers], WARM_UP)
    await closed_loop([caller.echo for caller in callers], WARM_UP)
    rounds: dict[int, list[Pair]] = {number: [] for number in CALLERS}
    for at in range(ROUNDS):
        say(f"  round {at + 1} of {ROUNDS}")
        for number in CALLERS:
            rounds[number].append(await _pair(callers[:number], CALLS[number]))
    size = Figure("answer_size", answer.ByteSize(), "bytes")
    return [size, *(figure for number in CALLERS for figure in _figures(number, rounds[number]))]


async def _callers(connection: Connection, count: int) -> list[Caller]:
    say(f"{count} users, each with 40 facts and 700 archived turns")
    await seeding.policy_and_prefix(connection)
    for number in range(count):
        await seeding.full_user(connection, f"user-{number}")
        await seeding.session(connection, f"user-{number}", "live", 2)
    return [Caller(connection, f"user-{number}", "live") for number in range(count)]


async def _pair(callers: Sequence[Caller], calls: int) -> Pair:
    echo = await closed_loop([caller.echo for caller in callers], calls)
    return echo, await closed_loop([caller.assemble for caller in callers], calls)


def _figures(number: int, pairs: Sequence[Pair]) -> list[Figure]:
    """Medians over the rounds; a ratio is that of one round's pair."""
    p50 = median(assemble.p50 / echo.p50 for echo, assemble in pairs)
    rate = median(assemble.rate / echo.rate for echo, assemble in pairs)
    # One caller shows what a call takes, sixteen what a process can do.
    alone = number == 1
    return [
        *_absolute("echo", number, [echo for echo, _ in pairs]),
        *_absolute("assemble", number, [assemble for _, assemble in pairs]),
        Figure(f"p50_ratio_{number}", p50, "x echo", _LATENCY_BAR if alone else None),
        Figure(f"rate_ratio_{number}", rate, "x echo", None if alone else _RATE_BAR),
    ]


def _absolute(name: str, number: int, samples: Sequence[Sample]) -> list[Figure]:
    return [
        Figure(f"{name}_p50_{number}", median(sample.p50 for sample in samples), "ms"),
        Figure(f"{name}_p99_{number}", median(sample.p99 for sample in samples), "ms"),
        Figure(f"{name}_rate_{number}", median(sample.rate for sample in samples), "calls/s"),
    ]


async def measure(folder: Path) -> list[Figure]:
    """All figures, in stores below a folder that is empty."""
    with running_server(folder / "main") as ports:
        async with connected(ports) as connection:
            figures = await against_echo(connection)
            figures += await growth.with_turns(connection, "user-0")
            figures += await growth.with_facts(connection)
    return figures + await growth.with_users(folder)


def main(arguments: Sequence[str]) -> int:
    """The command. Gives the exit code: 2 where it could not measure."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.latency", description="See docs/benchmarks.md."
    )
    parser.add_argument("--data-dir", type=Path, default=OUT / "data", help="where the stores go, on a disk")
    parent: Path = parser.parse_args(arguments).data_dir
    try:
        parent.mkdir(parents=True, exist_ok=True)
        require_disk(parent)
        with tempfile.TemporaryDirectory(dir=parent, prefix="latency-") as folder:
            figures = run(measure(Path(folder)))
    except (NotDurableError, ServerFailed, seeding.SeedingFailed, OSError) as error:
        print(f"could not measure: {error}", file=sys.stderr)
        return 2
    except grpc.RpcError as error:
        print(f"could not measure: a call failed: {error}", file=sys.stderr)
        return 2
    publish(figures, "latency")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
