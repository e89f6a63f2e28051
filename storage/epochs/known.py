"""What one process knows of epochs: what was confirmed to it lately, and what it changed itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from assemblers.records import UserRef
from storage.epochs.shared import FRESH_SECONDS
from storage.lru import Lru
from storage.ports.confirmations import Confirmation, EpochSource, covers
from storage.ports.epochs import Epochs

CAPACITY: Final = 100_000


@dataclass(frozen=True, slots=True)
class _Entry:
    epochs: Epochs
    confirmed: float


class KnownEpochs:
    """Remembers confirmations for a second, and the epochs of this process's own writes as floors: nothing below one
    is ever taken for current, whoever says so, because this process knows better."""

    def __init__(self, monotonic: Callable[[], float], capacity: int = CAPACITY) -> None:
        self._monotonic = monotonic
        self._confirmed: Lru[UserRef, _Entry] = Lru(capacity)
        self._told: Lru[UserRef, Epochs] = Lru(capacity)
        self._floors: Lru[UserRef, Epochs] = Lru(capacity)
        self._tenant_floors: Lru[str, int] = Lru(capacity)

    def floor(self, user: UserRef) -> Epochs:
        """The least that current epochs can be."""
        own = self._floors.get(user) or Epochs()
        return Epochs(own.facts, own.archive, self.tenant_floor(user.tenant_id))

    def tenant_floor(self, tenant_id: str) -> int:
        """The least that the tenant's current epoch can be."""
        return self._tenant_floors.get(tenant_id) or 0

    def raise_user(self, user: UserRef, facts: int | None, archive: int | None) -> None:
        """This process changed something of the user."""
        own = self._floors.get(user) or Epochs()
        self._floors.put(user, Epochs(max(own.facts, facts or 0), max(own.archive, archive or 0)))

    def raise_tenant(self, tenant_id: str, epoch: int) -> None:
        """This process changed something of the tenant."""
        self._tenant_floors.put(tenant_id, max(epoch, self.tenant_floor(tenant_id)))

    def remember(self, user: UserRef, epochs: Epochs, confirmed: float) -> None:
        """Epochs that were confirmed at that instant of the monotonic clock."""
        self.note(user, epochs)
        entry = self._confirmed.get(user)
        if entry is None or entry.confirmed <= confirmed:
            self._confirmed.put(user, _Entry(epochs, confirmed))

    def note(self, user: UserRef, epochs: Epochs) -> None:
        """Epochs that a call goes by, which are not confirmed well enough for others to go by them."""
        told = self._told.get(user)
        # Of two calls the one that was slower may have heard less.
        self._told.put(user, epochs if told is None else merged(told, epochs))

    def last(self, user: UserRef) -> Epochs | None:
        """The most that was told of the user, however long ago; never less than what this process wrote."""
        told = self._told.get(user)
        return None if told is None else merged(told, self.floor(user))

    def find(self, user: UserRef) -> Confirmation | None:
        """What was confirmed within the last second and is not outdated by a write of this process."""
        entry = self._confirmed.get(user)
        if entry is None:
            return None
        age = self._monotonic() - entry.confirmed
        if age >= FRESH_SECONDS or not covers(entry.epochs, self.floor(user)):
            return None
        return Confirmation(entry.epochs, EpochSource.MEMORY, age)


def merged(one: Epochs, other: Epochs) -> Epochs:
    """The higher of both in each part."""
    return Epochs(max(one.facts, other.facts), max(one.archive, other.archive), max(one.tenant, other.tenant))
