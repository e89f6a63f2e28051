"""The whole of it: every fault of the matrix, the kills, the unsure stores, the mutants; figures as they come."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import grpc

from benchmarks.faults import catching, kills, matrix, reports
from benchmarks.faults.catching import MUTANTS, UNSURE
from benchmarks.faults.checker import FloorMissed
from benchmarks.faults.gateways import GatewayFailed
from benchmarks.faults.judging import Judged, MakeFault, judged
from benchmarks.faults.launching import Launcher
from benchmarks.faults.running import Fault
from benchmarks.faults.sizes import Sizes
from benchmarks.faults.small_disk import NoSmallDisk
from benchmarks.faults.stack import Stack, StackOptions, running_stack
from benchmarks.figures import Figure
from benchmarks.progress import say
from scripts.servers.errors import ServerError

_SHOWN: Final = 3
"""Violations of each rule that are told."""
_UNCOUNTED: Final = (FloorMissed, GatewayFailed, ServerError, NoSmallDisk, grpc.RpcError)
_DISKS: Final = ("redis_disk_full", "sql_disk_full")


class Campaign:
    """Runs what is asked for over servers in `folder`.

    `launcher` starts the gateways that are no mutants; `only` are beginnings of names (none: all of it).
    """

    def __init__(self, folder: Path, sizes: Sizes, launcher: Launcher, only: Collection[str] = ()) -> None:
        self._folder, self._sizes, self._launcher, self._only = folder, sizes, launcher, tuple(only)
        self.figures: list[Figure] = []

    async def run(self) -> None:
        """All of it. A run that does not count is told, and its figure does not hold."""
        with running_stack(self._folder / "main", StackOptions()) as stack:
            for fault in matrix.redis_faults(stack):
                await self._fault(stack, fault, matrix.REDIS_RECOVERY)
            for fault in matrix.sql_faults(stack):
                await self._fault(stack, fault, matrix.SQL_RECOVERY)
            await self._durability(stack)
            await self._mutants(stack)
        if any(map(self._wanted, _DISKS)):
            await self._full_disks()

    async def _full_disks(self) -> None:
        """On servers of their own, whose small disks the other runs would fill by themselves."""
        try:
            with running_stack(self._folder / "small", StackOptions(small_disks=True)) as stack:
                assert stack.disks is not None
                redis, sql = matrix.disk_faults(stack.disks)
                await self._fault(stack, redis, matrix.REDIS_RECOVERY)
                await self._fault(stack, sql, matrix.SQL_RECOVERY)
        except NoSmallDisk as error:
            say(f"no full disks: {error}")
            for name in _DISKS:
                self.figures += reports.uncounted_figures(name)

    async def _fault(self, stack: Stack, fault: Fault, recovery: float) -> None:
        async def run() -> list[Figure]:
            done = await judged(stack, lambda _: fault, self._sizes.faults, launcher=self._launcher)
            _tell(done)
            return reports.fault_figures(fault.name, done.verdict, recovery)

        await self._counted(fault.name, run)

    async def _durability(self, stack: Stack) -> None:
        servers, gateways = self._sizes.server_kills, self._sizes.gateway_kills
        await self._kills(stack, "gateway_kills", gateways, lambda some: kills.gateway_kills(gateways, some))
        sql = kills.server_kills("sql_kills", servers, stack.postgres)
        await self._kills(stack, sql.name, servers, lambda _: sql)
        redis = kills.server_kills("redis_kills", servers, stack.redis, forgets_slots=True)
        await self._kills(stack, redis.name, servers, lambda _: redis)

        async def unsure() -> list[Figure]:
            done = await judged(stack, lambda _: kills.unsure(), self._sizes.durable, UNSURE)
            _tell(done)
            return reports.durability_figures("unsure", done.verdict, done.acknowledged)

        await self._counted("unsure", unsure)

    async def _kills(self, stack: Stack, name: str, count: int, make: MakeFault) -> None:
        scale = replace(self._sizes.durable, spans=replace(self._sizes.durable.spans, during=0.0))

        async def run() -> list[Figure]:
            done = await judged(stack, make, scale, launcher=self._launcher)
            _tell(done)
            return reports.kill_figures(name, count, done.verdict, done.acknowledged)

        await self._counted(name, run)

    async def _mutants(self, stack: Stack) -> None:
        scale = self._sizes.mutants
        for mutant in MUTANTS:
            await self._mutant(mutant.name, partial(catching.caught, stack, mutant, scale))

    async def _mutant(self, name: str, caught: Callable[[], Awaitable[bool]]) -> None:
        async def run() -> list[Figure]:
            return [reports.mutant_figure(name, caught=await caught())]

        await self._counted(f"mutant_{name}", run, [reports.mutant_figure(name, caught=False)])

    async def _counted(
        self, name: str, run: Callable[[], Awaitable[list[Figure]]], uncounted: Sequence[Figure] = ()
    ) -> None:
        """Run it where it is wanted; `uncounted` are the figures where it does not count (none: a share of nothing)."""
        if not self._wanted(name):
            return
        say(name)
        try:
            self.figures += await run()
        except _UNCOUNTED as error:
            say(f"  does not count: {error}")
            self.figures += uncounted or reports.uncounted_figures(name)

    def _wanted(self, name: str) -> bool:
        return not self._only or name.startswith(self._only)


def _tell(done: Judged) -> None:
    """The most frequent violations of each rule, and faults that were logged."""
    for line in done.verdict.findings.lines(_SHOWN):
        say(f"  {line}")
    for fault, times in done.logged_faults.most_common(_SHOWN):
        say(f"  logged {times} times: {fault}")
