"""Refuses what is too large, and new work while there is too much of it, before anything is decoded."""

from gateway.errors import Reason, ResourceExhausted, Unavailable
from gateway.server.call import Call, Handler, Method

_RETRY_SECONDS = 0.5
_RESTART_SECONDS = 2.0


class Limits:
    """The middleware. `max_concurrent_calls` counts over all methods; beyond it a call is refused at once, since an
    early refusal costs the client less than a late time-out.

    `running` calls are under way; `arrived` counts all that ever came, refused ones too.
    """

    def __init__(self, max_concurrent_calls: int) -> None:
        self._max_concurrent = max_concurrent_calls
        self._closed = False
        self.running = 0
        self.arrived = 0

    def close(self) -> None:
        """Refuse every call that comes from now on; those that run are not touched."""
        self._closed = True

    def __call__(self, method: Method, following: Handler) -> Handler:
        """Check size and load, then go on."""

        async def limit(call: Call) -> bytes:
            self.arrived += 1
            if len(call.body) > method.max_bytes:
                raise _too_large(len(call.body), method.max_bytes)
            if self._closed:
                raise Unavailable(
                    Reason.SHUTTING_DOWN,
                    "the server is shutting down: repeat after the stated delay, or at another address",
                    retry_after=_RESTART_SECONDS,
                )
            if self.running >= self._max_concurrent:
                raise ResourceExhausted(
                    Reason.OVERLOADED,
                    "the server is at its limit of calls at once: repeat after the stated delay",
                    retry_after=_RETRY_SECONDS,
                )
            self.running += 1
            try:
                return await following(call)
            finally:
                self.running -= 1

        return limit


def _too_large(size: int, limit: int) -> ResourceExhausted:
    return ResourceExhausted(
        Reason.LIMIT_EXCEEDED,
        f"the request has {size} bytes and this method takes at most {limit}: send less at once",
        {"limit": "request_bytes", "max": str(limit)},
    )
