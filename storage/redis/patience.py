"""A limit on how long the server takes, not on how long our own event loop is held up.

Where the loop was busy past the deadline, the answer may lie in the socket already, and loops differ in whether they
read sockets or run timers first. So once the deadline has passed the sockets are read once more.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Final

_LOOK_AGAIN_SECONDS: Final = 0.001


class Call:
    """A call to come at the loop's time `deadline`, but not before what had arrived by then was read."""

    __slots__ = ("_callback", "_loop", "_timer")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, deadline: float, callback: Callable[[], None]
    ) -> None:
        self._loop, self._callback = loop, callback
        self._timer = loop.call_at(deadline, self._passed)

    def cancel(self) -> None:
        """It does not come any more."""
        self._timer.cancel()

    def _passed(self) -> None:
        # A second timer is due in the next round of the loop at the earliest, and sockets are read in between.
        self._timer = self._loop.call_later(_LOOK_AGAIN_SECONDS, self._callback)


class Patience:
    """Like `asyncio.timeout_at`. Raises `TimeoutError`."""

    __slots__ = ("_call", "_deadline", "_scope")

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._scope = asyncio.timeout(None)

    async def __aenter__(self) -> None:
        await self._scope.__aenter__()
        self._call = Call(asyncio.get_running_loop(), self._deadline, self._give_up)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._call.cancel()
        await self._scope.__aexit__(kind, error, traceback)

    def _give_up(self) -> None:
        self._scope.reschedule(self._deadline)
