"""Epochs where one process alone writes: what it wrote and what it read once is all there is to know."""

from typing import Final

from assemblers.records import UserRef
from storage.epochs.known import KnownEpochs, merged
from storage.errors import StorageFull, StorageUnavailable
from storage.lru import Lru
from storage.ports.confirmations import Confirmation, EpochSource
from storage.ports.epochs import Epochs, EpochStore

CAPACITY: Final = 100_000


class LocalEpochs:
    """The ports `EpochConfirmer` and `Announcer` on a store that no other process writes to.

    A user's epochs are read once; from then on they are known for good, without I/O.
    """

    def __init__(self, store: EpochStore, capacity: int = CAPACITY) -> None:
        self._store = store
        # Its clock matters to what others may have changed, and here are no others.
        self._own = KnownEpochs(lambda: 0.0, capacity)
        self._read: Lru[UserRef, Epochs] = Lru(capacity)

    async def confirm(
        self,
        user: UserRef,
        at_least: Epochs | None = None,  # noqa: ARG002 - there is nobody else to ask
        within: float | None = None,  # noqa: ARG002 - a look-up in place
        keep_unknown: bool = False,  # noqa: ARG002 - nothing is noted anywhere else
    ) -> Confirmation | None:
        """The current epochs, or None where the store cannot be read."""
        known = self.known(user)
        if known is not None:
            return known
        try:
            self._read.put(user, await self._store.read(user))
        except (StorageUnavailable, StorageFull):
            return None
        return self.known(user)

    def known(self, user: UserRef) -> Confirmation | None:
        """The current epochs, if they were read before."""
        read = self._read.get(user)
        if read is None:
            return None
        # What was written while the read was under way may not be in it.
        return Confirmation(merged(read, self._own.floor(user)), EpochSource.SQL, 0.0)

    async def user_changed(self, user: UserRef, facts: int | None, archive: int | None) -> None:
        """The user's epochs are these; None for one that did not change."""
        self._own.raise_user(user, facts, archive)
        read = self._read.get(user)
        if read is not None:
            self._read.put(user, merged(read, self._own.floor(user)))

    async def tenant_changed(self, tenant_id: str, epoch: int) -> None:
        """The tenant's epoch is this."""
        self._own.raise_tenant(tenant_id, epoch)
