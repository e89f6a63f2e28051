"""The matrix: what is done to Redis and to Postgres, how it ends, and which row of the table then holds."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from benchmarks.faults.prescriptions import (
    REDIS_AWAY,
    REDIS_NOT_WRITING,
    SQL_AWAY,
    SQL_FULL,
    SQL_READ_ONLY,
    SQL_SLOW,
    Rules,
)
from benchmarks.faults.restarting import restart
from benchmarks.faults.running import Fault
from benchmarks.faults.stack import REDIS, SQL, Disks, Stack
from benchmarks.faults.toxics import CLEAR, REFUSED, Conditions, slow

REDIS_RECOVERY: Final = 2.0
SQL_RECOVERY: Final = 5.0
# Past the 50 ms that an operation may take; for SQL so that few look-ups fit into their share of a deadline.
_REDIS_SLOW_MS: Final = 100.0
_SQL_SLOW_MS: Final = 250.0

_AWAY: Final = Rules(REDIS_AWAY, settle=0.5, recovery=REDIS_RECOVERY)
_NOT_WRITING: Final = Rules(REDIS_NOT_WRITING, settle=0.5, recovery=REDIS_RECOVERY)
# For a second after the fault began what was confirmed before it still counts.
_SQL_AWAY: Final = Rules(SQL_AWAY, settle=1.5, recovery=SQL_RECOVERY)


def redis_faults(stack: Stack) -> list[Fault]:
    """All that need no small disk."""
    redis = stack.redis
    return [
        _fault("redis_paused", redis.pause, redis.resume, _AWAY),
        # What was not yet synced is lost: slots may be older than the trace knows, and say so.
        _fault("redis_killed", redis.kill, partial(restart, redis), replace(_AWAY, forgets_slots=True)),
        _proxied("redis_refused", stack, REDIS, REFUSED, _AWAY),
        _proxied("redis_slow", stack, REDIS, slow(_REDIS_SLOW_MS), _AWAY),
        _fault(
            "redis_read_only",
            lambda: redis.set_read_only(read_only=True),
            lambda: redis.set_read_only(read_only=False),
            _NOT_WRITING,
        ),
    ]


def sql_faults(stack: Stack) -> list[Fault]:
    """All that need no small disk."""
    postgres = stack.postgres
    return [
        _fault("sql_paused", postgres.pause, postgres.resume, _SQL_AWAY),
        _fault("sql_killed", postgres.kill, partial(restart, postgres), _SQL_AWAY),
        _proxied("sql_refused", stack, SQL, REFUSED, _SQL_AWAY),
        _proxied("sql_slow", stack, SQL, slow(_SQL_SLOW_MS), replace(_SQL_AWAY, during=SQL_SLOW)),
        _fault(
            "sql_read_only",
            lambda: _set_read_only(stack, "ALTER SYSTEM SET default_transaction_read_only = on"),
            lambda: _set_read_only(stack, "ALTER SYSTEM RESET default_transaction_read_only"),
            replace(_SQL_AWAY, during=SQL_READ_ONLY),
        ),
    ]


def disk_faults(disks: Disks) -> list[Fault]:
    """Full disks, on a stack that has small ones."""
    return [
        _fault("redis_disk_full", disks.redis.fill, disks.redis.free, replace(_NOT_WRITING, settle=2.0)),
        _fault("sql_disk_full", disks.sql.fill, disks.sql.free, replace(_SQL_AWAY, during=SQL_FULL)),
    ]


def _set_read_only(stack: Stack, statement: str) -> None:
    stack.postgres.admin.execute(f"{statement};\nSELECT pg_reload_conf()")


def _proxied(name: str, stack: Stack, server: str, conditions: Conditions, rules: Rules) -> Fault:
    return _fault(
        name,
        lambda: stack.proxies.apply(server, conditions),
        lambda: stack.proxies.apply(server, CLEAR),
        rules,
    )


def _fault(name: str, begin: Callable[[], object], end: Callable[[], object], rules: Rules) -> Fault:
    """Both are done beside the loop, which the traffic needs."""

    async def begin_beside() -> None:
        await asyncio.to_thread(begin)

    async def end_beside() -> None:
        await asyncio.to_thread(end)

    return Fault(name, begin_beside, end_beside, rules)
