"""What may be done while an answer's trace is on its way over the network: the call waits for it anyway."""

import asyncio
from collections.abc import Callable

from gateway.usecases.work import Answer

Meanwhile = Callable[[Answer], None]
"""Gets the answer as it will be unless something goes wrong; must not fail."""


def nothing(_: Answer) -> None:
    """For callers that have nothing to do in the meantime."""


async def once_sent(work: Callable[[], None]) -> None:
    """Run something once what was begun in this turn of the loop has gone out to the servers, which is in the next."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    work()
