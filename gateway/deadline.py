"""The time a call may take, on the monotonic clock: a jump of the wall clock changes nothing."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """An instant on `clock` (seconds, monotonic) by which the answer must be on its way.

    `seconds` is the time there was in the beginning, for messages.
    """

    expires_at: float
    clock: Callable[[], float] = time.monotonic
    seconds: float = 0.0

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> "Deadline":
        """The deadline that many seconds from now."""
        return cls(clock() + seconds, clock, seconds)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.expires_at - self.clock())

    @property
    def expired(self) -> bool:
        """Whether no time is left."""
        return self.clock() >= self.expires_at

    def share(self, fraction: float) -> "Deadline":
        """An earlier deadline, after that fraction (0 to 1) of what is left now."""
        now = self.clock()
        return Deadline(now + max(0.0, self.expires_at - now) * fraction, self.clock, self.seconds)

    def reserve(self, seconds: float) -> "Deadline":
        """An earlier deadline that leaves that many seconds for what comes after."""
        return Deadline(self.expires_at - seconds, self.clock, self.seconds)
