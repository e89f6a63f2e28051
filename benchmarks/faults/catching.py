"""Mutants that the checker must catch, each under the fault that shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.faults import kills, matrix
from benchmarks.faults.gateways import Gateway
from benchmarks.faults.judging import Judged, MakeFault, judged
from benchmarks.faults.running import Fault, Scale
from benchmarks.faults.stack import Stack
from benchmarks.faults.verdict import SHARES, Rule

_PROGRAM: Final = "benchmarks.faults.mutant"
# The writer of the log would have most of it written before a kill, whatever a commit waits for.
_UNHURRIED: Final = """
    ALTER SYSTEM SET wal_writer_delay = '10s';
    ALTER SYSTEM SET wal_writer_flush_after = '1GB';
    SELECT pg_reload_conf()"""
_AS_EVER: Final = """
    ALTER SYSTEM RESET wal_writer_delay;
    ALTER SYSTEM RESET wal_writer_flush_after;
    SELECT pg_reload_conf()"""
_SERVER_KILLS: Final = 8
_PLAIN_SHARE: Final = 20
"""One outcome of so many must be wrong."""

GATEWAYS_DIE, SQL_KILLS = "gateways_die", "sql_kills"
UNSURE: Final = (_PROGRAM, "unsure")
"""A gateway whose stores do one call in twenty and report it as timed out."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """`patches` are those of `benchmarks.faults.mutant`; one of `rules` must be found broken. `fault` is one of the
    matrix, `GATEWAYS_DIE`, `SQL_KILLS`, or "" for none."""

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
    Mutant("early", ("early",), frozenset({Rule.LOST, Rule.UNTRACED}), GATEWAYS_DIE),
    Mutant("asynchronous", ("asynchronous",), frozenset({Rule.LOST, Rule.UNTRACED}), SQL_KILLS),
    Mutant("untraced", ("untraced",), frozenset({Rule.UNTRACED})),
)


async def caught(stack: Stack, mutant: Mutant, scale: Scale) -> bool:
    """Whether the checker finds what the mutant breaks."""
    if mutant.fault == SQL_KILLS:
        done = await _judged_unhurried(stack, mutant, scale)
    else:
        done = await judged(stack, _fault_for(stack, mutant), scale, mutant.program)
    return any(_is_plain(done, rule) for rule in mutant.rules)


def _is_plain(done: Judged, rule: Rule) -> bool:
    """Whether a rule is broken so that it cannot be the machine's doing: a share may miss a few by being slow."""
    least = len(done.record.outcomes) / _PLAIN_SHARE if rule in SHARES else 1
    return done.verdict.findings.counts[rule] >= least


async def _judged_unhurried(stack: Stack, mutant: Mutant, scale: Scale) -> Judged:
    """With a Postgres that writes its log only where a commit waits for it."""
    stack.postgres.admin.execute(_UNHURRIED)
    try:
        return await judged(stack, _fault_for(stack, mutant), scale, mutant.program)
    finally:
        stack.postgres.admin.execute(_AS_EVER)


def _fault_for(stack: Stack, mutant: Mutant) -> MakeFault:
    def make(gateways: Sequence[Gateway]) -> Fault:
        if mutant.fault == GATEWAYS_DIE:
            return kills.all_gateways_die(gateways)
        if mutant.fault == SQL_KILLS:
            return kills.server_kills(mutant.name, _SERVER_KILLS, stack.postgres)
        if "unsure" in mutant.patches:
            return kills.unsure()
        faults = {fault.name: fault for fault in (*matrix.redis_faults(stack), *matrix.sql_faults(stack))}
        return faults[mutant.fault] if mutant.fault else kills.no_fault()

    return make
