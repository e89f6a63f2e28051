"""Loads under way: callers at the same time share one, and what changed meanwhile is not kept.

A load that was under way when its thing changed still answers those who began waiting before the change, but what it
brings is not kept, and whoever comes after the change starts a new one.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Loads(Generic[K, V]):
    """What is being loaded, by key. Belongs to one event loop."""

    def __init__(self, keep: Callable[[K, V], None]) -> None:
        """`keep` gets what was loaded, unless its key was forgotten meanwhile."""
        self._keep = keep
        self._tasks: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K, load: Callable[[], Coroutine[None, None, V]]) -> V:
        """The value of the load that is under way, or of a new one."""
        task = self._tasks.get(key) or self._begin(key, load)
        # A caller that gives up must not cancel the load under the others.
        return await asyncio.shield(task)

    def forget(self, key: K) -> None:
        """The thing changed: what is being loaded is out of date."""
        self._tasks.pop(key, None)

    def forget_where(self, concerned: Callable[[K], bool]) -> None:
        """Several things changed."""
        for key in [key for key in self._tasks if concerned(key)]:
            del self._tasks[key]

    def _begin(self, key: K, load: Callable[[], Coroutine[None, None, V]]) -> "asyncio.Task[V]":
        task = asyncio.create_task(load())
        self._tasks[key] = task
        task.add_done_callback(lambda done: self._loaded(key, done))
        return task

    def _loaded(self, key: K, task: "asyncio.Task[V]") -> None:
        current = self._tasks.get(key) is task
        if current:
            del self._tasks[key]
        # Asking for the exception also marks it as seen, should all callers have given up.
        if not task.cancelled() and task.exception() is None and current:
            self._keep(key, task.result())
