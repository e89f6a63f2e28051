"""The shared cache of epochs as a model in memory, with a clock that a test moves."""

from dataclasses import dataclass

from assemblers.records import UserRef
from storage.epochs import Mark, SharedState
from storage.errors import StorageUnavailable
from storage.ports.epochs import Epochs


@dataclass(frozen=True, slots=True)
class Entry:
    epochs: tuple[int, int]
    confirmed: int
    stands: bool

    def is_fresh(self, now: int) -> bool:
        return self.stands and 0 <= now - self.confirmed < 1000


class ModelEpochs:
    """The port `SharedEpochs`. `now` is in milliseconds; while `is_down` nothing answers."""

    def __init__(self) -> None:
        self.now = 1_000_000
        self.is_down = False
        self.asked = 0
        self.entries: dict[UserRef | str, Entry] = {}

    async def read(self, user: UserRef) -> SharedState:
        self._answer()
        return self.state(user)

    def state(self, user: UserRef) -> SharedState:
        mark = Mark(self.now, self.now)
        own, tenants = self.entries.get(user), self.entries.get(user.tenant_id)
        if own is None or tenants is None or not (own.confirmed and tenants.confirmed):
            return SharedState(mark)
        age = max(self.now - own.confirmed, self.now - tenants.confirmed, 0)
        fresh = own.is_fresh(self.now) and tenants.is_fresh(self.now)
        return SharedState(mark, Epochs(*own.epochs, tenants.epochs[0]), fresh, age / 1000)

    async def fill(self, user: UserRef, epochs: Epochs, mark: Mark, keep_unknown: bool) -> None:
        self._answer()
        if keep_unknown or epochs.facts or epochs.archive:
            self._fill(user, (epochs.facts, epochs.archive), mark.user_ms)
            self._fill(user.tenant_id, (epochs.tenant, 0), mark.tenant_ms)

    async def announce_user(self, user: UserRef, facts: int | None, archive: int | None) -> None:
        self._answer()
        self._announce(user, (facts or 0, archive or 0))

    async def announce_tenant(self, tenant_id: str, epoch: int) -> None:
        self._answer()
        self._announce(tenant_id, (epoch, 0))

    def _answer(self) -> None:
        self.asked += 1
        if self.is_down:
            raise StorageUnavailable("down")

    def _fill(self, key: UserRef | str, epochs: tuple[int, int], mark: int) -> None:
        if not 0 <= self.now - mark < 1000:
            return
        entry = self.entries.get(key)
        if entry is not None:
            if entry.epochs[0] > epochs[0] or entry.epochs[1] > epochs[1]:
                return
            if entry.epochs == epochs and entry.stands and entry.confirmed >= mark:
                return
        self.entries[key] = Entry(epochs, mark, stands=True)

    def _announce(self, key: UserRef | str, epochs: tuple[int, int]) -> None:
        entry = self.entries.get(key)
        if entry is None:
            self.entries[key] = Entry(epochs, 0, stands=False)
            return
        raised = (max(entry.epochs[0], epochs[0]), max(entry.epochs[1], epochs[1]))
        if raised != entry.epochs:
            self.entries[key] = Entry(raised, entry.confirmed, stands=False)
