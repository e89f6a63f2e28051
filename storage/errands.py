"""Work that nobody waits for: begun now, finished in its own time, and never the failure of a call."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from storage.errors import StorageError


class Errands:
    """Runs coroutines beside the calls. Belongs to one event loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Callable[[], Awaitable[object]]) -> "asyncio.Task[None]":
        """Start the work; waiting for the task is possible and not needed.

        A function and not a coroutine: one that is given up before it began would leave that unawaited.
        """
        task = asyncio.get_running_loop().create_task(self._run(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, work: Callable[[], Awaitable[object]]) -> None:
        with suppress(StorageError):
            await work()
