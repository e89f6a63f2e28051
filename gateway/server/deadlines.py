"""Ends a call when its time is over: the client's deadline, or ours where it set none or a longer one."""

import asyncio
from collections.abc import Callable

from gateway.deadline import Deadline
from gateway.errors import DeadlineExceeded
from gateway.server.call import Call, Handler, Method

DEFAULT_SECONDS = 2.0
MAX_SECONDS = 10.0


def deadline_for(remaining: float | None, clock: Callable[[], float]) -> Deadline:
    """The deadline of a call of which the client gives `remaining` seconds; None: it set no deadline."""
    seconds = DEFAULT_SECONDS if remaining is None else min(remaining, MAX_SECONDS)
    return Deadline.after(seconds, clock)


def deadline(_: Method, following: Handler) -> Handler:
    """Refuse a call that came too late, and stop one that takes too long."""

    async def limit(call: Call) -> bytes:
        remaining = call.deadline.remaining()
        if remaining <= 0.0:
            raise DeadlineExceeded(call.deadline.seconds)
        async with asyncio.timeout(remaining):
            return await following(call)

    return limit
