"""How new what is known of a user is: epochs are confirmed first, and copies in memory that are behind are loaded anew.

The rule (ADR 0012): an epoch counts as known for a second after SQL or the shared cache confirmed it. Where nobody can
say, nothing of the user may be shown, since they may have been erased or the tenant's policy changed.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from assemblers.records import UserRef
from gateway import telemetry
from gateway.consistency import not_seen
from storage.errors import StorageUnavailable
from storage.lru import Lru
from storage.ports import ArchiveSnapshot, Epochs, FactSnapshot, Storage
from storage.ports.confirmations import Confirmation, EpochConfirmer, EpochSource

KNOWN = 100_000
"""Users and tenants of whom it is remembered when, and under which epoch, they were up to date: some numbers each."""
MOST_STALE_SECONDS = 60.0
"""How long facts may be shown as stale after they were last known to be current."""
NOTHING_SEEN = Epochs()
_ANSWERED = (EpochSource.SQL, EpochSource.SHARED)


class Standing(NamedTuple):
    """What may be shown of a user. `confirmation` None: nothing. Copies below `required` are out of date."""

    confirmation: Confirmation | None
    required: Epochs

    @property
    def is_denied(self) -> bool:
        """Whether nobody can say what is current."""
        return self.confirmation is None

    @property
    def is_stale(self) -> bool:
        """Whether what is shown must be called stale: SQL does not answer, the shared cache does."""
        return self.confirmation is not None and self.confirmation.is_stale

    @property
    def sql_answers(self) -> bool:
        """Whether SQL answered now, or was seen to within the last second by whoever told us."""
        return self.confirmation is not None and self.confirmation.source in _ANSWERED


class Freshness:
    """Confirms epochs and compares what the stores have in memory with them."""

    def __init__(
        self, storage: Storage, confirmer: EpochConfirmer, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._storage, self._confirmer, self._monotonic = storage, confirmer, monotonic
        self._tenants: Lru[str, int] = Lru(KNOWN)
        self._current_at: Lru[UserRef, float] = Lru(KNOWN)

    async def standing(
        self,
        user: UserRef,
        at_least: Epochs | None = None,
        within: float | None = None,
        keep_unknown: bool = False,
    ) -> Standing:
        """What may be shown now. `at_least` is what the caller has seen, `within` the seconds that SQL may take.

        Raises FailedPrecondition where SQL is behind what the caller has seen.
        """
        confirmation = await self._confirmer.confirm(user, at_least, within, keep_unknown)
        telemetry.count_confirmation("NOBODY" if confirmation is None else confirmation.source)
        if confirmation is None:
            return Standing(None, at_least or NOTHING_SEEN)
        required = confirmation.epochs
        if at_least is not None and not confirmation.covers(at_least):
            if confirmation.source is EpochSource.SQL:
                raise not_seen()
            # Nobody could ask SQL: what is behind the caller is then said to be missing.
            required = _later(required, at_least)
        self._follow_tenant(user.tenant_id, required.tenant)
        return Standing(confirmation, required)

    async def certain(self, user: UserRef, at_least: Epochs | None = None) -> Standing:
        """The standing for a call that has no way of saying that its answer is stale.

        Raises `StorageUnavailable` where it would be, and FailedPrecondition as above.
        """
        standing = await self.standing(user, at_least)
        confirmation = standing.confirmation
        if confirmation is None or confirmation.is_stale or not confirmation.covers(standing.required):
            raise StorageUnavailable("nobody can say what is current")
        return standing

    async def certain_facts(self, user: UserRef) -> FactSnapshot:
        """The user's facts as they are now. Raises `StorageUnavailable` where nobody can say."""
        standing = await self.certain(user)
        return self.facts(user, standing) or await self.load_facts(user, standing)

    async def certain_archive(self, user: UserRef, at_least: Epochs | None = None) -> ArchiveSnapshot:
        """The user's archive as it is now. Raises `StorageUnavailable`, and FailedPrecondition as `standing` does."""
        standing = await self.certain(user, at_least)
        return self.archive(user, standing) or await self.load_archive(user, standing)

    def facts(self, user: UserRef, standing: Standing) -> FactSnapshot | None:
        """The facts in memory, unless they are out of date."""
        found = self._storage.facts.peek(user)
        if found is not None and found.epoch < standing.required.facts:
            self._storage.facts.forget(user)
            return None
        return found

    def archive(self, user: UserRef, standing: Standing) -> ArchiveSnapshot | None:
        """The archive in memory, unless it is out of date."""
        found = self._storage.archives.peek(user)
        if found is not None and found.epoch < standing.required.archive:
            self._storage.archives.forget(user)
            return None
        return found

    async def load_facts(self, user: UserRef, standing: Standing) -> FactSnapshot:
        """The facts from their store. Raises `StorageUnavailable`."""
        loaded = await self._storage.facts.load(user)
        if loaded.epoch < standing.required.facts:
            # A load that had begun before the change was shared; the next one begins now.
            self._storage.facts.forget(user)
            loaded = await self._storage.facts.load(user)
        return loaded

    async def load_archive(self, user: UserRef, standing: Standing) -> ArchiveSnapshot:
        """The archive from its store. Raises `StorageUnavailable`."""
        loaded = await self._storage.archives.load(user)
        if loaded.epoch < standing.required.archive:
            self._storage.archives.forget(user)
            loaded = await self._storage.archives.load(user)
        return loaded

    def note_current(self, user: UserRef) -> None:
        """What is in memory of the user was current just now."""
        self._current_at.put(user, self._monotonic())

    def was_current_lately(self, user: UserRef) -> bool:
        """Whether what is in memory was current within the last minute: then it may be shown as stale."""
        noted = self._current_at.get(user)
        return noted is not None and self._monotonic() - noted <= MOST_STALE_SECONDS

    def _follow_tenant(self, tenant_id: str, epoch: int) -> None:
        """Forget what is mirrored of a tenant of which something changed since it was last looked at."""
        known = self._tenants.get(tenant_id)
        if known is not None and known >= epoch:
            return
        self._tenants.put(tenant_id, epoch)
        self._storage.policies.forget_tenant(tenant_id)
        self._storage.prefixes.forget_tenant(tenant_id)
        self._storage.usage.forget_tenant(tenant_id)


def _later(one: Epochs, other: Epochs) -> Epochs:
    return Epochs(max(one.facts, other.facts), max(one.archive, other.archive), max(one.tenant, other.tenant))
