"""A wrapper round the ports of stores that fails, delays, or does the work and then reports a time-out.

What is wrapped is a real store: between faults everything is as it is without the wrapper.
"""

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from storage.errors import StorageError, StorageUnavailable
from storage.ports import Storage

SQL = ("facts", "archives", "transcripts", "policies", "prefixes", "traces", "users", "usage", "epochs")
"""The stores of a `Storage` that lie in SQL."""


@dataclass
class Fault:
    """What is wrong with a store; nothing in the beginning. `only` names the methods that are concerned."""

    error: Callable[[], StorageError] | None = None
    delay_seconds: float = 0.0
    reports_time_out: bool = False
    only: frozenset[str] = frozenset()
    calls: list[str] = field(default_factory=list)

    def out(self, *only: str, error: Callable[[], StorageError] = lambda: StorageUnavailable("out")) -> None:
        """Fail, in those methods (none: in all)."""
        self.heal()
        self.error, self.only = error, frozenset(only)

    def slow(self, seconds: float, *only: str) -> None:
        """Take that long before each call."""
        self.heal()
        self.delay_seconds, self.only = seconds, frozenset(only)

    def late(self, *only: str) -> None:
        """Do the work and report that it was not answered in time."""
        self.heal()
        self.reports_time_out, self.only = True, frozenset(only)

    def heal(self) -> None:
        """Nothing is wrong any more."""
        self.error, self.delay_seconds, self.reports_time_out = None, 0.0, False
        self.only = frozenset()

    async def around(self, name: str, call: Callable[[], Any]) -> Any:
        """One call under the fault."""
        self.calls.append(name)
        if self.only and name not in self.only:
            return await call()
        if self.delay_seconds:
            await asyncio.sleep(self.delay_seconds)
        if self.error is not None:
            raise self.error()
        result = await call()
        if self.reports_time_out:
            raise StorageUnavailable("was not answered in time")
        return result


class Faulty:
    """A port under a fault. What answers from memory is not touched."""

    def __init__(self, port: object, fault: Fault) -> None:
        self._port, self._fault = port, fault

    # The wrapped methods have the types of their port, which the wrapper stands for.
    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not inspect.iscoroutinefunction(found):
            return found
        return lambda *arguments, **named: self._fault.around(name, lambda: found(*arguments, **named))


class FaultyStorage:
    """A storage of which SQL and the session cache can fail, each by itself."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.sql, self.cache = Fault(), Fault()
        for name in SQL:
            setattr(self, name, Faulty(getattr(storage, name), self.sql))
        self.sessions = Faulty(storage.sessions, self.cache)

    async def ready(self) -> bool:
        """Not while everything in SQL fails."""
        return self.sql.error is None and await self._storage.ready()

    async def close(self) -> None:
        """Close what is wrapped."""
        await self._storage.close()

    @property
    def port(self) -> Storage:
        """The wrapper as what it stands for."""
        return cast("Storage", self)
