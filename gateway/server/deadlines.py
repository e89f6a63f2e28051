"""Ends a call when its time is over: the client's deadline, or ours where it set none or a longer one."""

import asyncio
from collections.abc import Callable

from gateway.deadline import Deadline
from gateway.errors import DeadlineExceeded
from gateway.server.call import Call, Handler, Method

DEFAULT_SECONDS = 2.0
MAX_SECONDS = 10.0


def deadline_for(remaining: float | None, clock: Callable[[], float]) -> tuple[Deadline, bool]:
    """The deadline of a call, and whether the transport ends the call then.

    `remaining` is what the client gives it in seconds, None without a deadline.
    """
    if remaining is None:
        return Deadline.after(DEFAULT_SECONDS, clock), False
    return Deadline.after(min(remaining, MAX_SECONDS), clock), remaining <= MAX_SECONDS


def deadline(_: Method, following: Handler) -> Handler:
    """Refuse a call that came too late, and stop one that takes too long.

    gRPC cancels a call at the client's own deadline, so a timer (9 us) is set only where ours is the earlier one.
    """

    async def limit(call: Call) -> bytes:
        remaining = call.deadline.remaining()
        if remaining <= 0.0:
            raise DeadlineExceeded(call.deadline.seconds)
        if call.ended_by_transport:
            return await following(call)
        async with asyncio.timeout(remaining):
            return await following(call)

    return limit
