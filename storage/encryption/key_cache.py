"""Unwrapped keys in memory, bounded in number and in time.

A key is looked up again once it is `FRESH_SECONDS` old, so that a rotation or a deletion reaches every process within
that time. Where the store or the holder of the master key does not answer in `PATIENCE_SECONDS`, all that is held goes
on serving for `RETRY_SECONDS`, and then one caller asks again; `HELD_SECONDS` is the end of it. So an outage takes away
nothing that can be served without SQL, and makes one call a second wait.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from storage.encryption.data_key import DataKey
from storage.encryption.errors import MasterKeyError
from storage.errors import StorageDamaged, StorageUnavailable
from storage.loads import Loads
from storage.lru import Lru

_log = logging.getLogger(__name__)
K = TypeVar("K", bound=Hashable)

FRESH_SECONDS: Final = 60.0
PATIENCE_SECONDS: Final = 0.1
RETRY_SECONDS: Final = 1.0
HELD_SECONDS: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class _Entry:
    """A key; instants are those of the monotonic clock."""

    key: DataKey
    fresh_until: float
    held_until: float


class KeyCache(Generic[K]):
    """The keys used last, by owner. An owner without a key is not remembered: it may get one at any time."""

    def __init__(
        self,
        load: Callable[[K], Coroutine[None, None, DataKey | None]],
        monotonic: Callable[[], float],
        capacity: int,
    ) -> None:
        """`load` gives an owner's key, or None where it has none. `monotonic` gives seconds."""
        self._load, self._monotonic = load, monotonic
        self._entries: Lru[K, _Entry] = Lru(capacity)
        self._silent_until = self._quiet_until = 0.0
        self._loads: Loads[K, tuple[float, DataKey | None]] = Loads(self._keep)

    def peek(self, owner: K) -> DataKey | None:
        """The key if it is here and need not be looked up again now."""
        entry = self._entries.get(owner)
        if entry is None:
            return None
        now = self._monotonic()
        is_usable = now < entry.fresh_until or now < min(self._silent_until, entry.held_until)
        return entry.key if is_usable else None

    async def get(self, owner: K) -> DataKey | None:
        """The owner's key, or None where it has none. Raises what `load` raises."""
        fresh = self.peek(owner)
        if fresh is not None:
            return fresh
        entry = self._entries.get(owner)
        if entry is None or self._monotonic() >= entry.held_until:
            self._entries.forget(owner)
            return await self._loaded(owner)
        return await self._renewed(owner, entry)

    def forget(self, owner: K) -> None:
        """The owner's key changed."""
        self._loads.forget(owner)
        self._entries.forget(owner)

    async def _renewed(self, owner: K, entry: _Entry) -> DataKey | None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self._loaded(owner)
        except StorageDamaged:
            raise
        except MasterKeyError as error:
            # A matter of this owner's tenant: the file with a new master key has not come here yet.
            self._warn(error)
            until = min(self._monotonic() + RETRY_SECONDS, entry.held_until)
            self._entries.put(owner, replace(entry, fresh_until=until))
            return entry.key
        except (TimeoutError, StorageUnavailable):
            self._silent_until = self._monotonic() + RETRY_SECONDS
            return entry.key

    def _warn(self, error: MasterKeyError) -> None:
        """Tell the operator, who has an hour to help."""
        if self._monotonic() >= self._quiet_until:
            self._quiet_until = self._monotonic() + FRESH_SECONDS
            _log.warning("keys cannot be looked up again, and serve for an hour at most: %s", error)

    async def _loaded(self, owner: K) -> DataKey | None:
        _, key = await self._loads.get(owner, lambda: self._timed_load(owner))
        return key

    async def _timed_load(self, owner: K) -> tuple[float, DataKey | None]:
        # From its beginning on: what changed since may be missing in it.
        begun = self._monotonic()
        return begun, await self._load(owner)

    def _keep(self, owner: K, loaded: tuple[float, DataKey | None]) -> None:
        begun, key = loaded
        if key is None:
            self._entries.forget(owner)
        else:
            self._entries.put(owner, _Entry(key, begun + FRESH_SECONDS, begun + HELD_SECONDS))
