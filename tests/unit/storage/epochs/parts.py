"""An SQL of three numbers, and a clock that tests move."""

import asyncio

from assemblers.records import UserRef
from storage.errors import StorageUnavailable
from storage.ports.epochs import Epochs


class Sql:
    """The port `EpochStore`. `held` keeps reads waiting after they saw the state."""

    def __init__(self) -> None:
        self.epochs = Epochs(3, 2, 1)
        self.is_down = False
        self.asked = 0
        self.held: asyncio.Event | None = None

    async def read(self, user: UserRef) -> Epochs:
        self.asked += 1
        seen = self.epochs
        if self.is_down:
            raise StorageUnavailable("down")
        if self.held is not None:
            await self.held.wait()
        return seen


class Clock:
    """The monotonic clock of one gateway, in seconds."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


async def settled() -> None:
    """Let errands finish."""
    for _ in range(5):
        await asyncio.sleep(0)
