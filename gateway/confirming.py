"""Confirming epochs without the shared cache, for a storage that nothing more is known of."""

from assemblers.records import UserRef
from storage.errors import StorageFull, StorageUnavailable
from storage.ports import Announcer, Epochs, EpochStore
from storage.ports.confirmations import Confirmation, EpochSource


class StoredEpochs:
    """The port `EpochConfirmer` that asks the store each time: always right, at the price of a look-up."""

    def __init__(self, store: EpochStore) -> None:
        self._store = store

    async def confirm(
        self,
        user: UserRef,
        at_least: Epochs | None = None,  # noqa: ARG002 - the truth is not less than what anybody has seen
        within: float | None = None,  # noqa: ARG002 - the store bounds its look-ups by itself
        keep_unknown: bool = False,  # noqa: ARG002 - nothing is noted anywhere
    ) -> Confirmation | None:
        """The current epochs, or None where the store cannot be read."""
        try:
            return Confirmation(await self._store.read(user), EpochSource.SQL, 0.0)
        except (StorageUnavailable, StorageFull):
            return None

    def known(self, user: UserRef) -> Confirmation | None:  # noqa: ARG002 - nothing is remembered
        """Nothing without asking."""
        return None


class Relay:
    """The port `Announcer` for stores that are opened before there is anybody to tell."""

    def __init__(self) -> None:
        self.to: Announcer | None = None

    async def user_changed(self, user: UserRef, facts: int | None, archive: int | None) -> None:
        """The user's epochs are these; None for one that did not change."""
        if self.to is not None:
            await self.to.user_changed(user, facts, archive)

    async def tenant_changed(self, tenant_id: str, epoch: int) -> None:
        """The tenant's epoch is this."""
        if self.to is not None:
            await self.to.tenant_changed(tenant_id, epoch)
