"""Whether a store that failed is worth waiting for: by one call each second, until it answers again."""

import time
from collections.abc import Callable

MOST_FAILURES = 5
"""Failures in a row after which nobody else waits."""
PROBE_SECONDS = 1.0


class Probation:
    """Counts failures of one store. Belongs to one event loop; `monotonic` gives seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._failures = 0
        self._next_probe = 0.0

    @property
    def is_out(self) -> bool:
        """Whether the store is taken to be out."""
        return self._failures >= MOST_FAILURES

    def admits(self) -> bool:
        """Whether this caller is to wait for the store. True for one in each second while it is out."""
        if not self.is_out:
            return True
        now = self._monotonic()
        if now < self._next_probe:
            return False
        self._next_probe = now + PROBE_SECONDS
        return True

    def failed(self) -> None:
        """The store did not answer."""
        self._failures += 1
        if self._failures == MOST_FAILURES:
            self._next_probe = self._monotonic() + PROBE_SECONDS

    def succeeded(self) -> None:
        """The store answered."""
        self._failures = 0
