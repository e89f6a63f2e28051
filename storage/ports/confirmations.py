"""Confirming epochs: who says that what a process knows of a user is still the current state."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from assemblers.records import UserRef
from storage.ports.epochs import Epochs


class EpochSource(StrEnum):
    """Who confirmed epochs."""

    SQL = "SQL"
    """The truth itself."""
    SHARED = "SHARED"
    """The cache that all gateways share, at most a second after SQL confirmed them to it."""
    SHARED_ALONE = "SHARED_ALONE"
    """The shared cache, to which no later change was announced; SQL does not answer. What is shown is stale."""
    MEMORY = "MEMORY"
    """This process, which had them confirmed within the last second; nobody else answers."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A user's current epochs. `age_seconds` is how long ago SQL confirmed them, measured so that it is never less."""

    epochs: Epochs
    source: EpochSource
    age_seconds: float

    @property
    def is_stale(self) -> bool:
        """Whether what is shown under these epochs must be called stale."""
        return self.source is EpochSource.SHARED_ALONE

    def covers(self, seen: Epochs) -> bool:
        """Whether this state holds all that a caller has seen."""
        return covers(self.epochs, seen)


def covers(epochs: Epochs, seen: Epochs) -> bool:
    """Whether the state of `epochs` holds all that of `seen`."""
    return epochs.facts >= seen.facts and epochs.archive >= seen.archive and epochs.tenant >= seen.tenant


class EpochConfirmer(Protocol):
    """Says which epochs of a user are the current ones."""

    async def confirm(
        self,
        user: UserRef,
        at_least: Epochs | None = None,
        within: float | None = None,
        keep_unknown: bool = False,
    ) -> Confirmation | None:
        """The current epochs. None: nobody can say, so nothing of the user may be shown, slots neither.

        `at_least` is what the caller has seen, by a consistency token: where less than that is confirmed, SQL is
        asked. The answer may still not cover it; from SQL that says that the token is not one of this user's, from
        others that SQL does not answer. `within` bounds in seconds what SQL may take. `keep_unknown`: the shared cache
        may note a user of whom nothing is stored, which is for calls that write; reads leave nothing behind.
        """
        ...

    def known(self, user: UserRef) -> Confirmation | None:
        """What was confirmed within the last second, out of memory."""
        ...
