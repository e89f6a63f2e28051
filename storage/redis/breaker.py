"""The circuit breaker of one server: after enough failures nobody waits for it any more.

It opens after `MAX_FAILURES` failures in a row, or once there were only failures for `MAX_SILENCE_SECONDS`. Any success
closes it; while it is open only the probe can bring one. Pure logic on a given clock.
"""

from collections.abc import Callable
from typing import Final

MAX_FAILURES: Final = 5
MAX_SILENCE_SECONDS: Final = 1.0


class Breaker:
    """Counts what a server made of what it was asked."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """`monotonic` gives seconds."""
        self._monotonic = monotonic
        self._failures = 0
        self._failing_since = 0.0
        self._is_open = False

    @property
    def is_open(self) -> bool:
        """Whether callers are to be refused at once."""
        return self._is_open

    def succeeded(self) -> None:
        """The server answered: what came before is forgotten."""
        self._failures = 0
        self._is_open = False

    def failed(self) -> bool:
        """The server did not answer. True: that opened the breaker."""
        now = self._monotonic()
        if self._failures == 0:
            self._failing_since = now
        self._failures += 1
        if self._is_open:
            return False
        silent = now - self._failing_since >= MAX_SILENCE_SECONDS
        self._is_open = silent or self._failures >= MAX_FAILURES
        return self._is_open
