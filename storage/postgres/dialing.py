"""New connections, few at a time where the server does not answer.

A server that stands still is asked again by every call. Its system accepts connections all the same, and once it goes
on it starts a process for each of the thousand that were given up meanwhile, just when everybody wants it back: after
a pause of a minute that kept two cores busy for five seconds. So after a failure there is one attempt at a time, which
outlasts the calls that wait for it; whoever comes next uses what it brings.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from storage.errors import StorageUnavailable

ATTEMPT_SECONDS: Final = 2.0
"""What one attempt may take: where its packets were lost, the next one arrives sooner than they are sent again."""

C = TypeVar("C")


class Dialing(Generic[C]):
    """Makes connections for one event loop."""

    def __init__(self, connect: Callable[[], Awaitable[C]], made: Callable[[C], None]) -> None:
        """`made` gets what an attempt brings that nobody owns: one of those who wait takes it, or who comes later."""
        self._connect, self._made = connect, made
        self._is_in_doubt = False
        self._attempt: asyncio.Task[None] | None = None

    async def dial(self) -> C | None:
        """A connection of the caller's own; or None once there may be one among those that were `made`.

        Raises what `connect` raises, `TimeoutError` and, where it is being closed, `StorageUnavailable`.
        """
        if self._is_in_doubt:
            await self._shared_attempt()
            return None
        try:
            return await self._connect()
        except BaseException:
            # Also of a caller that gave up, most likely since it took too long.
            self._is_in_doubt = True
            raise

    async def close(self) -> None:
        """Give up what is under way."""
        if self._attempt is not None:
            self._attempt.cancel()
            await asyncio.wait([self._attempt])

    async def _shared_attempt(self) -> None:
        if self._attempt is None:
            self._attempt = asyncio.ensure_future(self._try())
            self._attempt.add_done_callback(self._ended)
        attempt = self._attempt
        try:
            await asyncio.shield(attempt)
        except asyncio.CancelledError:
            if attempt.cancelled():
                raise StorageUnavailable("the store is closed") from None
            raise

    async def _try(self) -> None:
        async with asyncio.timeout(ATTEMPT_SECONDS):
            connection = await self._connect()
        self._is_in_doubt = False
        self._made(connection)

    def _ended(self, attempt: "asyncio.Task[None]") -> None:
        self._attempt = None
        # Looked at here, since all who waited may have left.
        if not attempt.cancelled():
            attempt.exception()
