"""What assembling takes: against the echo, through two processes, among few and many users, with a large archive."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import grpc

from benchmarks.callers import Caller
from benchmarks.figures import Bar, Figure, Side
from benchmarks.process import Connection, Ports
from benchmarks.progress import say
from benchmarks.scale.backends import Backends, Gateway
from benchmarks.scale.furnishing import AMONG, ARCHIVE, ECHO, ONE_PORT, TWO_PORTS
from benchmarks.scale.population import LARGE, MEASURED, SMALL, ordinary_user
from benchmarks.timing import Sample, Step, alternating, closed_loop
from muniment.v1 import types_pb2

CALLERS: Final = (1, 16)
_WARM_UP: Final = 320
_LATENCY_BAR: Final = Bar(Side.AT_MOST, 3.5)
_RATE_BAR: Final = Bar(Side.AT_LEAST, 0.25)
_GROWTH_BAR: Final = Bar(Side.AT_MOST, 10.0)
_LARGE_BAR: Final = Bar(Side.AT_MOST, 3.0)
_LOAD_ATTEMPTS: Final = 40
_LOAD_PAUSE_SECONDS: Final = 0.5


class NeverLoaded(RuntimeError):
    """A user's archive did not come into memory."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How often things are measured: rounds, and calls of a round at one caller; sixteen make eight times as many."""

    rounds: int
    calls_alone: int

    def calls(self, number: int) -> int:
        """Calls of a round at that many callers."""
        return self.calls_alone if number == 1 else 8 * self.calls_alone


def callers(connections: Sequence[Connection], session_id: str) -> list[Caller]:
    """One for each measured user, spread over the connections."""
    return [
        Caller(connections[number % len(connections)], ordinary_user(number).user_id, session_id)
        for number in range(MEASURED)
    ]


async def against_echo(connection: Connection, effort: Effort) -> list[Figure]:
    """One process, with the echo in its loop: one caller for latency, sixteen for throughput."""
    say("against the echo")
    some = callers([connection], ECHO)
    answer = await some[0].assemble()
    await connection.echo_with(answer)
    await closed_loop([caller.assemble for caller in some], _WARM_UP)
    await closed_loop([caller.echo for caller in some], _WARM_UP)
    figures = [Figure("answer_size", answer.ByteSize(), "bytes")]
    for number in CALLERS:
        pairs = [await _pair(some[:number], effort.calls(number)) for _ in range(effort.rounds)]
        figures += _echo_figures(number, pairs)
    return figures


async def _pair(some: Sequence[Caller], calls: int) -> tuple[Sample, Sample]:
    echo = await closed_loop([caller.echo for caller in some], calls)
    return echo, await closed_loop([caller.assemble for caller in some], calls)


def _echo_figures(number: int, pairs: Sequence[tuple[Sample, Sample]]) -> list[Figure]:
    """Medians over the rounds; a ratio is that of one round's pair."""
    p50 = median(assemble.p50 / echo.p50 for echo, assemble in pairs)
    rate = median(assemble.rate / echo.rate for echo, assemble in pairs)
    alone = number == 1
    return [
        Figure(f"echo_p50_{number}", median(echo.p50 for echo, _ in pairs), "ms"),
        Figure(f"echo_rate_{number}", median(echo.rate for echo, _ in pairs), "calls/s"),
        Figure(f"assemble_p50_{number}", median(assemble.p50 for _, assemble in pairs), "ms"),
        Figure(f"assemble_p99_{number}", median(assemble.p99 for _, assemble in pairs), "ms"),
        Figure(f"assemble_rate_{number}", median(assemble.rate for _, assemble in pairs), "calls/s"),
        Figure(f"p50_ratio_{number}", p50, "x echo", _LATENCY_BAR if alone else None),
        Figure(f"rate_ratio_{number}", rate, "x echo", None if alone else _RATE_BAR),
    ]


async def two_processes(
    name: str, gateways: Sequence[Gateway], ports: Sequence[Ports], effort: Effort
) -> list[Figure]:
    """The throughput of sixteen callers over connections to `ports`, and how evenly the processes worked.

    `name` is also that of the sessions.
    """
    say(name)
    async with AsyncExitStack() as stack:
        connections = [await stack.enter_async_context(_connected_apart(port)) for port in ports]
        steps = [caller.assemble for caller in callers(connections, name)]
        await closed_loop(steps, _WARM_UP)
        before = [_cpu_ticks(gateway.pid) for gateway in gateways]
        samples = [await closed_loop(steps, effort.calls(16)) for _ in range(effort.rounds)]
        worked = [_cpu_ticks(gateway.pid) - ticks for gateway, ticks in zip(gateways, before, strict=True)]
    return [
        Figure(f"{name}_rate_16", median(sample.rate for sample in samples), "calls/s"),
        Figure(f"{name}_p50_16", median(sample.p50 for sample in samples), "ms"),
        Figure(f"{name}_smaller_share", 100 * min(worked) / max(1, sum(worked)), "% of CPU"),
    ]


@asynccontextmanager
async def _connected_apart(ports: Ports) -> AsyncIterator[Connection]:
    """On a connection that no other channel shares: the system spreads connections over processes, not calls."""
    options = (("grpc.use_local_subchannel_pool", 1),)
    gateway = grpc.aio.insecure_channel(f"127.0.0.1:{ports.gateway}", options=options)
    async with gateway, grpc.aio.insecure_channel(f"127.0.0.1:{ports.echo}", options=options) as echo:
        yield Connection(gateway, echo)


def _cpu_ticks(pid: int) -> int:
    """What a process has used so far; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


async def among_users(
    few: Connection, many: Connection, sizes: tuple[int, int], effort: Effort
) -> list[Figure]:
    """The same users in a database with few others and in one with many."""
    say("growth with the users of the database")
    steps = [_round_robin(callers([connection], AMONG)) for connection in (few, many)]
    rounds = await _rounds(steps, effort)
    small, large = sizes
    growth = (median(samples[1].p50 / samples[0].p50 for samples in rounds) - 1) * 100
    return [
        Figure(f"users_{small}_p50", median(samples[0].p50 for samples in rounds), "ms"),
        Figure(f"users_{large}_p50", median(samples[1].p50 for samples in rounds), "ms"),
        Figure(f"growth_users_{large}_over_{small}", growth, "%", _GROWTH_BAR),
    ]


async def large_archive(connection: Connection, effort: Effort) -> list[Figure]:
    """The user with the most excerpts against the one with few, both in memory, searched by keywords."""
    say("a user with a large archive")
    some = [Caller(connection, user_id, ARCHIVE) for user_id in (SMALL, LARGE)]
    for caller in some:
        await _until_loaded(caller)
    rounds = await _rounds([caller.assemble for caller in some], effort)
    return [
        Figure("small_archive_p50", median(samples[0].p50 for samples in rounds), "ms"),
        Figure("large_archive_p50", median(samples[1].p50 for samples in rounds), "ms"),
        Figure(
            "large_over_small", median(samples[1].p50 / samples[0].p50 for samples in rounds), "x", _LARGE_BAR
        ),
    ]


async def _rounds(steps: Sequence[Step], effort: Effort) -> list[list[Sample]]:
    await alternating(steps, max(20, MEASURED * 2))
    return [await alternating(steps, effort.calls(1)) for _ in range(effort.rounds)]


async def _until_loaded(caller: Caller) -> None:
    """A large archive may take longer to load than its share of one call: then that call goes without."""
    for _ in range(_LOAD_ATTEMPTS):
        answer = await caller.assemble()
        if all(one.section != types_pb2.SECTION_KIND_HISTORY for one in answer.degradations):
            return
        await asyncio.sleep(_LOAD_PAUSE_SECONDS)
    raise NeverLoaded("an archive did not come into memory, however often it was asked for")


def _round_robin(some: Sequence[Caller]) -> Step:
    asked = 0

    async def step() -> None:
        nonlocal asked
        asked += 1
        await some[asked % len(some)].assemble()

    return step


async def gateways_of(
    backends: Backends, database: str, number: int, effort: Effort, port: int
) -> list[Figure]:
    """Two gateways behind two ports, and behind one that both listen on."""
    settings: Mapping[str, str] = backends.settings(database, number)
    figures: list[Figure] = []
    with backends.gateway("port-0", settings) as one, backends.gateway("port-1", settings) as other:
        figures += await two_processes(TWO_PORTS, (one, other), [one.ports, other.ports] * 8, effort)
    with (
        backends.gateway("shared-0", settings, port, shared=True) as one,
        backends.gateway("shared-1", settings, port, shared=True) as other,
    ):
        figures += await two_processes(ONE_PORT, (one, other), [one.ports] * 16, effort)
    return figures
