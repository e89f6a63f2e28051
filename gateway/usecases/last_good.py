"""What was looked up last, for when it cannot be looked up: the last good revision of a tenant's own policies."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from storage.errors import StorageFull, StorageUnavailable
from storage.lru import Lru

V = TypeVar("V")

LOOK_SECONDS = 0.25
"""What a look-up may take that has nothing to fall back to, while its store is known not to answer."""


class Found(NamedTuple, Generic[V]):
    """A value. `is_behind`: something of the tenant changed since it was looked up, and it cannot be looked up now."""

    value: V
    is_behind: bool = False


class LastGood(Generic[V]):
    """The values that look-ups gave last, by a key that begins with the tenant."""

    def __init__(self, capacity: int = 4_096) -> None:
        self._kept: Lru[Hashable, tuple[V, int]] = Lru(capacity)

    async def get(
        self, key: Hashable, look: Callable[[], Awaitable[V]], epoch: int, answers: bool
    ) -> Found[V]:
        """What `look` gives, else what it gave last. `epoch` is the tenant's now; `answers` whether the store does.

        Raises what `look` raises where there is nothing to fall back to.
        """
        kept = None if answers else self._kept.get(key)
        if kept is not None:
            return Found(kept[0], kept[1] < epoch)
        try:
            value = await look() if answers else await asyncio.wait_for(look(), LOOK_SECONDS)
        except (StorageUnavailable, StorageFull, TimeoutError):
            kept = self._kept.get(key)
            if kept is None:
                raise StorageUnavailable("what is looked up was never looked up before") from None
            return Found(kept[0], kept[1] < epoch)
        self._kept.put(key, (value, epoch))
        return Found(value)
