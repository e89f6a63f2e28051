"""Who there is: users over a few tenants, each with facts and excerpts, all made up from seeds."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from assemblers.records import UserRef
from benchmarks import scene

TENANTS: Final = 16
"""Users are spread over them; the first is the one whose users are measured."""
LARGE, SMALL = "large", "small"
"""The users of whom one has many excerpts and the other few."""
MEASURED: Final = 16
"""Users of ordinary size that are asked for, in a database with few users and in one with many."""
SMALL_EXCERPTS: Final = 500


@dataclass(frozen=True, slots=True)
class Resident:
    """A user with so many facts and excerpts; `seed` makes the texts."""

    user: UserRef
    facts: int
    excerpts: int
    seed: int


@dataclass(frozen=True, slots=True)
class Population:
    """How many there are. `large_excerpts` are those of one user; the rest is shared evenly."""

    users: int = 10_000
    facts: int = 40
    excerpts: int = 1_000_000
    large_excerpts: int = 50_000

    @property
    def each(self) -> int:
        """Excerpts of an ordinary user, one at least."""
        return max(1, (self.excerpts - self.large_excerpts - SMALL_EXCERPTS) // max(1, self.users - 2))

    def residents(self, each: int | None = None) -> Iterator[Resident]:
        """All of them, those who are measured first, in the first tenant. `each` excerpts make an ordinary user, where
        those of another database are to be like them."""
        ordinary = self.each if each is None else each
        yield Resident(UserRef(scene.TENANT, LARGE), self.facts, self.large_excerpts, 1)
        yield Resident(UserRef(scene.TENANT, SMALL), self.facts, SMALL_EXCERPTS, 2)
        for number in range(self.users - 2):
            yield Resident(ordinary_user(number), self.facts, ordinary, 100 + number)


def tenant(number: int) -> str:
    """The name of a tenant, from 0."""
    return scene.TENANT if number == 0 else f"{scene.TENANT}-{number}"


def ordinary_user(number: int) -> UserRef:
    """From 0. The first few are measured, and all in the first tenant."""
    return UserRef(tenant(0 if number < MEASURED else number % TENANTS), f"user-{number}")
