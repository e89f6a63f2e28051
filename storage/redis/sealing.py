"""Values are sealed under their user's data key, and bound to the key they lie under.

What cannot be opened or read counts as not there: sealed under a key that is gone, written by another release, changed
by somebody. A cache must never fail a call; how often it happened is counted.
"""

from dataclasses import dataclass
from typing import Protocol

from assemblers.records import UserRef


class Seal(Protocol):
    """A user's data key."""

    def seal(self, place: bytes, content: bytes, /) -> bytes: ...
    def open(self, place: bytes, sealed: bytes, /) -> bytes:
        """Raises `StorageDamaged` where it was not sealed for this place under this key."""
        ...


class Sealer(Protocol):
    """Finds users' data keys. All may raise `StorageUnavailable`."""

    async def for_writing(self, user: UserRef, /) -> Seal:
        """The key, made durable on first use."""
        ...

    async def for_reading(self, user: UserRef, /) -> Seal | None:
        """The key, or None where the user has none."""
        ...


@dataclass(slots=True)
class Unreadable:
    """How many values could not be opened or read, since the start."""

    count: int = 0
