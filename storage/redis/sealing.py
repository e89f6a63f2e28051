"""Values are sealed under their user's data key, and bound to the key they lie under.

What cannot be opened or read counts as not there: sealed under a key that is gone, written by another release, changed
by somebody. A cache must never fail a call; how often it happened is counted.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from assemblers.records import UserRef
from storage.errors import StorageDamaged
from storage.redis.formats import UnknownFormat

T = TypeVar("T")


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


class SealedValues:
    """Values of users, sealed and opened."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer
        self.unreadable = 0
        """How many values could not be opened or read since the start."""

    async def seal(self, user: UserRef, place: bytes, content: bytes) -> bytes:
        """The content, sealed for the place."""
        return (await self._sealer.for_writing(user)).seal(place, content)

    async def seal_if_known(self, user: UserRef, place: bytes, content: bytes) -> bytes | None:
        """The same for a user who has a key; None for others, of whom nothing is to be written."""
        key = await self._sealer.for_reading(user)
        return None if key is None else key.seal(place, content)

    async def open(
        self, user: UserRef, place: bytes, sealed: bytes, decode: Callable[[bytes], T]
    ) -> T | None:
        """What `decode` makes of the content. None, and counted, where it cannot be opened or read."""
        try:
            key = await self._sealer.for_reading(user)
            if key is not None:
                return decode(key.open(place, sealed))
        except (StorageDamaged, UnknownFormat):
            # As where there is no key: the value is of no use.
            pass
        self.unreadable += 1
        return None
