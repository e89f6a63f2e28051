"""Who the traffic belongs to, and the canaries by which every text says whose it is.

The ids are chosen so that parts joined with a colon meet: `r:a` + `b` and `r` + `a:b` are two people, and each tenant
has a user of every name.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from muniment.v1 import types_pb2

_CANARY: Final = re.compile(r"zq(\d+)p(\d+)([a-z])(\d+)z")
# Joined with a colon, (a:b, c:s) under a tenant meets (b, c:s) under `tenant:a`, and (b:c, s) meets (b, c:s).
_USERS: Final = (("a:b", "c:s"), ("b", "c:s"), ("b:c", "s"))


@dataclass(frozen=True, slots=True)
class Person:
    """A user with the one session that is live. `number` is unique within a run."""

    run: int
    number: int
    tenant_id: str
    user_id: str
    session_id: str

    @property
    def user(self) -> types_pb2.UserRef:
        """As requests name it."""
        return types_pb2.UserRef(tenant_id=self.tenant_id, user_id=self.user_id)

    @property
    def session(self) -> types_pb2.SessionRef:
        """The live session."""
        return types_pb2.SessionRef(
            tenant_id=self.tenant_id, user_id=self.user_id, session_id=self.session_id
        )


@dataclass(frozen=True, slots=True)
class Canary:
    """Whose text it is and which: `kind` is one letter, `number` counts within (person, kind)."""

    run: int
    person: int
    kind: str
    number: int

    def __str__(self) -> str:
        return f"zq{self.run}p{self.person}{self.kind}{self.number}z"


FACT, SLOT, ASKED, ANSWERED, ARCHIVED = "f", "s", "q", "r", "h"
"""The kinds of text."""


def people(run: int, more: int) -> tuple[Person, ...]:
    """The people of a run in three tenants, each with the three users whose ids collide and so many plain ones."""
    plain = [(f"u{number}", "live") for number in range(more)]
    places = [
        (tenant_id, user_id, session_id)
        for tenant_id in (f"r{run}", f"r{run}:a", f"other{run}")
        for user_id, session_id in (*_USERS, *plain)
    ]
    return tuple(Person(run, number, *place) for number, place in enumerate(places))


def canaries(texts: Iterable[str]) -> Iterator[Canary]:
    """All canaries in the texts."""
    for text in texts:
        for run, person, kind, number in _CANARY.findall(text):
            yield Canary(int(run), int(person), kind, int(number))
