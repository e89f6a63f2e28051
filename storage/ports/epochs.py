"""Epochs: counters that grow with every change of what belongs to a user or a tenant, so that copies can be compared.

The truth lies in SQL and grows in the transaction of the write. Who holds a copy asks whether its epochs are still the
current ones; whoever changed something announces the new ones before the write is acknowledged.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from assemblers.records import UserRef


@dataclass(frozen=True, slots=True)
class Epochs:
    """What a state of a user's data is made of. Each part grows by itself; 0 where nothing was ever written."""

    facts: int = 0
    archive: int = 0
    tenant: int = 0

    def covers(self, other: "Epochs") -> bool:
        """Whether this state holds all that the other holds."""
        return self.facts >= other.facts and self.archive >= other.archive and self.tenant >= other.tenant

    def merged(self, other: "Epochs") -> "Epochs":
        """The later of both in each part."""
        return Epochs(
            max(self.facts, other.facts), max(self.archive, other.archive), max(self.tenant, other.tenant)
        )


class EpochSource(StrEnum):
    """Who confirmed epochs."""

    SQL = "SQL"
    SHARED = "SHARED"
    """The cache that all gateways share, within a second after SQL."""
    SHARED_ALONE = "SHARED_ALONE"
    """The shared cache, which no later write has announced itself to; SQL does not answer. What is shown under these
    epochs is stale."""
    MEMORY = "MEMORY"
    """This process confirmed them within the last second; neither SQL nor the shared cache answers."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The epochs of a user, and who says so."""

    epochs: Epochs
    source: EpochSource

    @property
    def is_fresh(self) -> bool:
        """Whether what is shown under these epochs is at most a second old. False: say that it is stale."""
        return self.source is not EpochSource.SHARED_ALONE


class EpochReader(Protocol):
    """Reads the truth."""

    async def read(self, user: UserRef) -> Epochs:
        """The epochs as they are in SQL now: what was committed before the call is in them. Creates nothing."""
        ...


class EpochConfirmer(Protocol):
    """Says which epochs of a user are the current ones."""

    async def confirm(
        self, user: UserRef, at_least: Epochs | None = None, within: float | None = None
    ) -> Confirmation | None:
        """The current epochs, or None where nobody can say: then nothing of the user may be shown.

        `at_least` is what the caller has seen of a write: epochs that do not cover it are asked for in SQL. Where SQL
        itself is behind it the answer does not cover it either; the caller compares. `within` bounds in seconds how
        long SQL may take.
        """
        ...

    def known(self, user: UserRef) -> Confirmation | None:
        """What was confirmed within the last second, from memory."""
        ...


class Announcer(Protocol):
    """Is told of changes after their commit, before anybody learns that they were written. Never raises."""

    async def user_changed(self, user: UserRef, facts: int = 0, archive: int = 0) -> None:
        """The user's new epochs; 0 for a part that did not change."""
        ...

    async def tenant_changed(self, tenant_id: str, epoch: int) -> None:
        """The tenant's new epoch."""
        ...
