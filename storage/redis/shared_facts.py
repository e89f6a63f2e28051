"""Facts with copies that all gateways share: a wrapper round a fact store.

Where the wrapped store has nothing in memory, a copy is taken whose epoch is the one that was confirmed for this call,
or a later one; else the store loads, and what it loaded is copied. So a gateway that just started asks SQL less, and
one that never saw a user can show facts while SQL is down.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final, Protocol

from assemblers.records import Fact, UserRef
from storage.errands import Errands
from storage.errors import StorageFull, StorageUnavailable
from storage.ports import (
    FactDraft,
    FactSelector,
    FactSnapshot,
    FactStore,
    FactWritten,
    Page,
    PageRequest,
    Receipt,
)
from storage.ports.epochs import Epochs
from storage.snapshots import SnapshotCache

CACHE_BYTES: Final = 16 * 2**20
_FACT_BYTES: Final = 1_500


class FactCopies(Protocol):
    """Copies of snapshots. All raise `StorageUnavailable` or `StorageFull`."""

    async def get(self, user: UserRef) -> FactSnapshot | None: ...
    async def put(self, user: UserRef, snapshot: FactSnapshot) -> None: ...


class _NoCopyError(Exception):
    """There is none that is new enough."""


class SharedFacts:
    """The port `FactStore` round another one. Belongs to one event loop."""

    def __init__(
        self, store: FactStore, copies: FactCopies, confirmed: Callable[[UserRef], Epochs | None]
    ) -> None:
        """`confirmed` gives the highest epochs that were ever confirmed for a user."""
        self._store, self._copies, self._confirmed = store, copies, confirmed
        self._taken: SnapshotCache[FactSnapshot] = SnapshotCache(self._take, _size, CACHE_BYTES)
        self._errands = Errands()

    def peek(self, user: UserRef) -> FactSnapshot | None:
        """The snapshot if it is in memory."""
        loaded, taken = self._store.peek(user), self._taken.peek(user)
        if loaded is None or taken is None:
            return loaded or taken
        return max(loaded, taken, key=lambda snapshot: snapshot.epoch)

    async def load(self, user: UserRef) -> FactSnapshot:
        """The snapshot, at least of the epoch that was confirmed."""
        if self._store.peek(user) is not None:
            return await self._store.load(user)
        try:
            return await self._taken.get(user)
        except _NoCopyError:
            loaded = await self._store.load(user)
        self._errands.begin(partial(self._copies.put, user, loaded))
        return loaded

    def forget(self, user: UserRef) -> None:
        """The user's facts changed."""
        self._taken.forget(user)
        self._store.forget(user)

    async def get(self, user: UserRef, no: int) -> Fact:
        """The fact of a number, in whatever state."""
        return await self._store.get(user, no)

    async def list(self, user: UserRef, selector: FactSelector, page: PageRequest) -> Page[Fact]:
        """The selected facts, by number."""
        return await self._store.list(user, selector, page)

    async def record(
        self,
        user: UserRef,
        drafts: Sequence[FactDraft],
        now: datetime,
        receipt: Receipt[tuple[FactWritten, ...]],
    ) -> tuple[FactWritten, ...]:
        """Store admitted facts."""
        try:
            return await self._store.record(user, drafts, now, receipt)
        finally:
            # Also after an error: a write that was too late to say so may have been done.
            self._taken.forget(user)

    async def invalidate(
        self,
        user: UserRef,
        selector: FactSelector,
        reason: str,
        now: datetime,
        receipt: Receipt[tuple[Fact, ...]],
    ) -> tuple[Fact, ...]:
        """Invalidate what is selected."""
        try:
            return await self._store.invalidate(user, selector, reason, now, receipt)
        finally:
            self._taken.forget(user)

    async def delete(self, user: UserRef, no: int, etag: str, now: datetime, receipt: Receipt[Fact]) -> Fact:
        """Remove a fact's content for good."""
        try:
            return await self._store.delete(user, no, etag, now, receipt)
        finally:
            self._taken.forget(user)

    async def close(self) -> None:
        """Give up what is under way; the wrapped store is its owner's to close."""
        await self._errands.close()

    async def _take(self, user: UserRef) -> FactSnapshot:
        confirmed = self._confirmed(user)
        if confirmed is None:
            raise _NoCopyError
        try:
            copy = await self._copies.get(user)
        except (StorageUnavailable, StorageFull):
            raise _NoCopyError from None
        if copy is None or copy.epoch < confirmed.facts:
            raise _NoCopyError
        return copy


def _size(snapshot: FactSnapshot) -> int:
    texts = sum(len(fact.value) for fact in snapshot.facts if isinstance(fact.value, str))
    return _FACT_BYTES * (len(snapshot.facts) + 1) + 4 * texts
