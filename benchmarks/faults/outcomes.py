"""What a run leaves behind: one record for each attempt of each call, and what could be read back afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from benchmarks.faults.people import Canary, Person

OK: Final = "OK"
FACT_KEYS: Final = 4
"""The number of a fact's canary names its key: number modulo this."""


class Kind(StrEnum):
    """The calls that are made."""

    ASSEMBLE = "assemble"
    FACTS = "facts"
    TURNS = "turns"
    SLOTS = "slots"


@dataclass(frozen=True, slots=True)
class Shown:
    """How a section came out. `reason` is that of its degradation, "" where there is none."""

    status: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a prompt showed. `facts` has the number seen for each key, `slot` that of the filter (-1: none)."""

    trace: str
    sections: Mapping[str, Shown]
    warnings: tuple[str, ...] = ()
    canaries: tuple[Canary, ...] = ()
    facts: Mapping[int, int] = field(default_factory=dict)
    slot: int = -1

    def status(self, section: str) -> str:
        """The status of a section, "" where it is not there."""
        shown = self.sections.get(section)
        return "" if shown is None else shown.status


@dataclass(frozen=True, slots=True)
class Outcome:
    """One attempt. `number` is that of the canary that was written or asked; repeats of it have the same.

    Times are seconds on the monotonic clock. `code` is the status, `reason` that of the error ("" where it has none),
    `retry` whether it says when to try again. `answer` is there for an assembled prompt.
    """

    kind: Kind
    person: int
    gateway: int
    number: int
    started: float
    ended: float
    code: str = OK
    reason: str = ""
    retry: bool = False
    answer: Answer | None = None

    @property
    def ok(self) -> bool:
        """Whether it was acknowledged."""
        return self.code == OK

    @property
    def failure(self) -> str:
        """`CODE/REASON` as prescriptions name it, `OK` where it was acknowledged."""
        return OK if self.ok else f"{self.code}/{self.reason}"


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn as read back."""

    turn_id: str
    text: str


@dataclass(frozen=True, slots=True)
class StoredLink:
    """A trace as listed: whose turn it answers, and its place in the chain."""

    name: str
    user_id: str
    session_id: str
    turn_id: str
    sequence: int
    record_hash: str
    previous_hash: str


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What is there at the end, through the API: by person the values of all facts, retired ones too, and the turns
    of the session; by tenant the traces, oldest first."""

    facts: Mapping[int, tuple[str, ...]]
    turns: Mapping[int, tuple[StoredTurn, ...]]
    traces: Mapping[str, tuple[StoredLink, ...]]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Instants of a run: traffic is steady, the fault begins, it is lifted, traffic ends."""

    steady: float
    fault: float
    healed: float
    ended: float


@dataclass(frozen=True, slots=True)
class Record:
    """A whole run, as the checker takes it."""

    people: tuple[Person, ...]
    timeline: Timeline
    outcomes: tuple[Outcome, ...]
    stored: ReadBack
