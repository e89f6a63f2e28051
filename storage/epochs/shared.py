"""What the shared cache keeps of epochs, and the rules by which it keeps them.

The truth is SQL. The shared cache holds two entries for a user, one for the user and one for the tenant. An entry is
its epochs, the instant at which SQL confirmed them, and whether that confirmation still stands. All instants are of
the clock of the server that has the entry, so no two clocks are ever compared. Three things happen to an entry, each
atomically:

* **read** gives the entry and the server's instant, the *mark*. The entry is *fresh* where its confirmation stands and
  is less than a second old. Reading changes nothing.
* **fill**(epochs, mark) brings what SQL said to a question that was put after the read of that mark. It is refused
  once the mark is a second old, and where an epoch of the entry is higher; else the entry becomes these epochs,
  confirmed at the mark.
* **announce**(epochs) comes after a commit, before the write is acknowledged. It raises the entry's epochs, and where
  that changed them the confirmation stands no more. Where there is no entry it makes one that nobody confirmed.

An entry lives an hour, many times the second that matters, or until Redis loses it. What follows:

1. *A fresh entry is at most a second old.* It was confirmed at a mark, SQL was asked after that, and the mark is less
   than a second ago. This needs no announcement: where one was lost, others are stale for a second at most, which also
   holds for a fill that arrives late, because it carries its mark.
2. *After an announcement no reader gets less*, while the entry lives: epochs of an entry only grow, and a fill that
   was read from SQL before the commit finds a higher epoch and is refused. So who confirms after a write was
   acknowledged sees it, or finds the entry not fresh and asks SQL, which has it.
3. *An announcement that arrives late harms nothing*: it takes a confirmation away at most, and never gives one.
4. *Where Redis loses the entry* (restart, eviction, failover to a replica that was behind) a fill under way may bring
   back what was read before the commit; by 1 that lasts a second at most.

While SQL does not answer, an entry that is not fresh still says that no later change was announced: it is used alone,
and what is shown under it is called stale. It is used only if SQL confirmed it once, since an announcement names the
parts that changed and not the others.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from assemblers.records import UserRef
from storage.ports.epochs import Epochs

FRESH_SECONDS: Final = 1.0
KEPT_SECONDS: Final = 3_600


@dataclass(frozen=True, slots=True)
class Mark:
    """When the shared cache was asked: milliseconds by the clocks of the servers that have the two entries."""

    user_ms: int
    tenant_ms: int


@dataclass(frozen=True, slots=True)
class SharedState:
    """What the shared cache knows. `epochs` are None where it lacks an entry, or SQL never confirmed one of them.

    `age_seconds` is how long ago SQL confirmed the older entry.
    """

    mark: Mark
    epochs: Epochs | None = None
    is_fresh: bool = False
    age_seconds: float = 0.0


class SharedEpochs(Protocol):
    """The shared cache. All raise `StorageUnavailable` or `StorageFull`."""

    async def read(self, user: UserRef) -> SharedState: ...
    async def fill(self, user: UserRef, epochs: Epochs, mark: Mark, keep_unknown: bool) -> None:
        """Bring what SQL said after the mark. A user of whom nothing is stored is noted only if `keep_unknown`."""
        ...

    async def announce_user(self, user: UserRef, facts: int | None, archive: int | None) -> None: ...
    async def announce_tenant(self, tenant_id: str, epoch: int) -> None: ...
