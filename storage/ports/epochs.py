"""Epochs count how often what belongs to a user or a tenant changed: by them a process tells whether it is behind."""

from dataclasses import dataclass
from typing import Protocol

from assemblers.records import UserRef


@dataclass(frozen=True, slots=True)
class Epochs:
    """How often a user's facts and archive changed, and the tenant's policies, prefixes and usage; 0 for never."""

    facts: int = 0
    archive: int = 0
    tenant: int = 0


class EpochStore(Protocol):
    """The epochs as they are stored, which is the truth."""

    async def read(self, user: UserRef) -> Epochs:
        """All three of one state of the data; an unknown user has zeros and stays unknown."""
        ...


class Announcer(Protocol):
    """Is told of new epochs, after a write is durable and before it is acknowledged.

    Nothing that goes wrong here may fail the write: an announcer never raises, and takes no longer than it must.
    """

    async def user_changed(self, user: UserRef, facts: int | None, archive: int | None) -> None:
        """The user's epochs are these; None for one that did not change."""
        ...

    async def tenant_changed(self, tenant_id: str, epoch: int) -> None: ...
