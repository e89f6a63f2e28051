"""Mutants that the checker must catch, each under the fault that shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.faults import kills, matrix
from benchmarks.faults.gateways import Gateway
from benchmarks.faults.judging import MakeFault, judged
from benchmarks.faults.running import Fault, Scale
from benchmarks.faults.stack import Stack
from benchmarks.faults.verdict import Rule
from scripts.servers.postgres_admin import APPLICATION

_PROGRAM: Final = "benchmarks.faults.mutant"
# The writer of the log is told to take its time as well: it would else have most of it written before a kill.
_ASYNCHRONOUS: Final = f"""
    ALTER ROLE {APPLICATION} SET synchronous_commit = off;
    ALTER SYSTEM SET wal_writer_delay = '10s';
    ALTER SYSTEM SET wal_writer_flush_after = '1GB';
    SELECT pg_reload_conf()"""
_SYNCHRONOUS: Final = f"""
    ALTER ROLE {APPLICATION} RESET synchronous_commit;
    ALTER SYSTEM RESET wal_writer_delay;
    ALTER SYSTEM RESET wal_writer_flush_after;
    SELECT pg_reload_conf()"""
_SERVER_KILLS: Final = 8

UNSURE: Final = (_PROGRAM, "unsure")
"""A gateway whose stores do one call in twenty and report it as timed out."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """`patches` are those of `benchmarks.faults.mutant`; one of `rules` must be found broken. `fault` is one of the
    matrix, `gateways_die`, or "" for none."""

    name: str
    patches: tuple[str, ...]
    rules: frozenset[Rule]
    fault: str = ""

    @property
    def program(self) -> Sequence[str]:
        """What runs it."""
        return _PROGRAM, *self.patches


# Values that are sealed for one person do not open for another: there a collision shows as a section that is missing
# without a fault.
_MIXED_UP: Final = frozenset({Rule.FOREIGN, Rule.PRESCRIBED, Rule.STALE})

MUTANTS: Final = (
    Mutant("colon_keys", ("colon_keys",), _MIXED_UP),
    Mutant("no_tenant", ("no_tenant",), _MIXED_UP),
    Mutant("silent", ("silent",), frozenset({Rule.PRESCRIBED}), "redis_refused"),
    Mutant("remembers", ("remembers",), frozenset({Rule.STALE})),
    Mutant("untyped", ("untyped",), frozenset({Rule.UNTYPED})),
    Mutant("hangs", ("hangs",), frozenset({Rule.PRESCRIBED, Rule.LATE})),
    Mutant("no_receipts", ("unsure", "no_receipts"), frozenset({Rule.DOUBLED})),
    Mutant("early", ("early",), frozenset({Rule.LOST, Rule.UNTRACED}), "gateways_die"),
    Mutant("untraced", ("untraced",), frozenset({Rule.UNTRACED})),
)
ASYNCHRONOUS_COMMIT: Final = "asynchronous_commit"
"""No program but a setting: Postgres acknowledges before its log is written."""
_LOST: Final = frozenset({Rule.LOST, Rule.UNTRACED, Rule.CHAIN})


async def caught(stack: Stack, mutant: Mutant, scale: Scale) -> bool:
    """Whether the checker finds what the mutant breaks."""
    done = await judged(stack, _fault_for(stack, mutant), scale, mutant.program)
    return bool(done.verdict.findings.broken & mutant.rules)


async def asynchronous_commit_caught(stack: Stack, scale: Scale) -> bool:
    """Whether acknowledged writes are missed once Postgres was killed, where it commits asynchronously."""
    stack.postgres.admin.execute(_ASYNCHRONOUS)
    try:
        fault = kills.server_kills(ASYNCHRONOUS_COMMIT, _SERVER_KILLS, stack.postgres)
        done = await judged(stack, lambda _: fault, scale)
    finally:
        stack.postgres.admin.execute(_SYNCHRONOUS)
    return bool(done.verdict.findings.broken & _LOST)


def _fault_for(stack: Stack, mutant: Mutant) -> MakeFault:
    def make(gateways: Sequence[Gateway]) -> Fault:
        if mutant.fault == "gateways_die":
            return kills.all_gateways_die(gateways)
        if "unsure" in mutant.patches:
            return kills.unsure()
        faults = {fault.name: fault for fault in (*matrix.redis_faults(stack), *matrix.sql_faults(stack))}
        return faults[mutant.fault] if mutant.fault else kills.no_fault()

    return make
