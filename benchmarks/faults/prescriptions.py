"""Which outcomes are right, without a fault and under each: the table of the degradation rules as data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from benchmarks.faults.outcomes import OK, Answer, Kind, Outcome

UNAVAILABLE: Final = "UNAVAILABLE/STORAGE_UNAVAILABLE"
FULL: Final = "RESOURCE_EXHAUSTED/STORAGE_FULL"
TOO_LATE: Final = "DEADLINE_EXCEEDED/DEADLINE_EXCEEDED"
TOO_LATE_AT_CLIENT: Final = "DEADLINE_EXCEEDED/"
NOBODY_THERE: Final = "UNAVAILABLE/"

CANCELLED: Final = "CANCELLED/"
STOPPING: Final = "UNAVAILABLE/SHUTTING_DOWN"

NOT_DURABLE: Final = "trace_not_durable"
NOT_SAVED: Final = "slots_not_saved"

Statuses = frozenset[str]

_ALL_THERE: Final = frozenset({"OK", "TRUNCATED"})
_PERHAPS: Final = frozenset({"OK", "EMPTY", "TRUNCATED"})
_NOT_CONFIRMED: Final = frozenset({"STALE", "UNAVAILABLE", "DENIED"})
_ONLY_OK: Final = frozenset({OK})
_ALWAYS: Final = {"PREFIX": frozenset({"OK"}), "QUESTION": frozenset({"OK"})}


@dataclass(frozen=True, slots=True)
class Prescription:
    """What is right in one state of the stores.

    `sections` names the statuses of each section; every status that is not plain must be said in a degradation, which
    the reading of an answer already takes for the status. `required` warnings must all be there, and no others than
    those and the `allowed` ones. `failures` has for each kind of call `OK` or `CODE/REASON` as far as they are right.
    """

    sections: Mapping[str, Statuses]
    failures: Mapping[Kind, Statuses]
    required: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()

    def permits(self, outcome: Outcome) -> bool:
        """Whether an outcome is right. An UNAVAILABLE of ours says when to try again."""
        if outcome.failure not in self.failures[outcome.kind]:
            return False
        if outcome.failure == UNAVAILABLE and not outcome.retry:
            return False
        return outcome.answer is None or self._permits_answer(outcome.answer)

    def _permits_answer(self, answer: Answer) -> bool:
        # A degradation is said in words as well, under its section's name.
        said = frozenset(warning.partition(":")[0] for warning in answer.warnings) - answer.sections.keys()
        if not self.required <= said or not said <= self.required | self.allowed:
            return False
        return all(answer.status(section) in statuses for section, statuses in self.sections.items())

    def with_sections(self, **sections: Statuses) -> Self:
        """The same with other statuses for some sections."""
        merged = {**self.sections, **sections}
        return type(self)(merged, self.failures, self.required, self.allowed)

    def with_failures(self, *failures: str, of: Iterable[Kind] = tuple(Kind)) -> Self:
        """The same with further failures for some kinds of call."""
        more = frozenset(failures)
        merged = {kind: found | more if kind in of else found for kind, found in self.failures.items()}
        return type(self)(self.sections, merged, self.required, self.allowed)


def union(first: Prescription, second: Prescription) -> Prescription:
    """What is right where the state may be either, as while a fault begins or ends. A section that one of them does not
    name may come out in any way."""
    return Prescription(
        {
            name: first.sections[name] | second.sections[name]
            for name in first.sections.keys() & second.sections
        },
        {kind: first.failures[kind] | second.failures[kind] for kind in Kind},
        first.required & second.required,
        first.allowed | second.allowed | first.required | second.required,
    )


NORMAL: Final = Prescription(
    {**_ALWAYS, "FACTS": _ALL_THERE, "HISTORY": _PERHAPS, "SESSION": _PERHAPS},
    dict.fromkeys(Kind, _ONLY_OK),
)


@dataclass(frozen=True, slots=True)
class Rules:
    """The prescriptions of a run. `settle` is how long after the fault's beginning the old state may still show, in
    seconds, `recovery` how long after its end the new one. `forgets_slots`: what the fault loses is no error."""

    during: Prescription
    settle: float
    recovery: float
    forgets_slots: bool = False
    normal: Prescription = NORMAL


_SLOTS_FAIL: Final = {**NORMAL.failures, Kind.SLOTS: frozenset({UNAVAILABLE})}
_WRITES_FAIL: Final = {
    Kind.ASSEMBLE: _ONLY_OK,
    Kind.FACTS: frozenset({UNAVAILABLE}),
    Kind.TURNS: frozenset({UNAVAILABLE}),
    # Slots live in Redis; a policy that cannot be confirmed keeps them from being set.
    Kind.SLOTS: frozenset({OK, UNAVAILABLE}),
}

REDIS_AWAY: Final = Prescription(
    {**NORMAL.sections, "SESSION": frozenset({"UNAVAILABLE"})},
    # The turns are durable without Redis; only the slots that their results may set are not.
    {**_SLOTS_FAIL, Kind.TURNS: frozenset({OK, UNAVAILABLE})},
    allowed=frozenset({NOT_SAVED}),
)
"""Refused, paused, slow or dead: no slots, all else from SQL."""

REDIS_NOT_WRITING: Final = Prescription(
    {**NORMAL.sections, "SESSION": frozenset({"OK", "EMPTY", "STALE"})},
    {**_SLOTS_FAIL, Kind.TURNS: frozenset({OK, UNAVAILABLE})},
    required=frozenset({NOT_SAVED}),
)
"""Read-only or full: reads are as ever, and an answer says that its slots were not saved."""

SQL_AWAY: Final = Prescription(
    {
        **_ALWAYS,
        "FACTS": _NOT_CONFIRMED,
        "HISTORY": _NOT_CONFIRMED | {"EMPTY"},
        "SESSION": _PERHAPS | {"DENIED"},
    },
    _WRITES_FAIL,
    required=frozenset({NOT_DURABLE}),
    # Slots that nobody may read, since it is not known whether they are to be erased, are not written either.
    allowed=frozenset({NOT_SAVED}),
)
"""Refused, paused or dead: what Redis still confirms, as stale, and else nothing personal; the trace is spooled."""

SQL_SLOW: Final = Prescription(
    {**SQL_AWAY.sections, "FACTS": _NOT_CONFIRMED | _ALL_THERE, "HISTORY": _NOT_CONFIRMED | _PERHAPS},
    {
        **{kind: frozenset({OK, UNAVAILABLE, TOO_LATE, TOO_LATE_AT_CLIENT}) for kind in Kind},
        Kind.ASSEMBLE: _ONLY_OK,
    },
    allowed=frozenset({NOT_DURABLE, NOT_SAVED}),
)
"""What arrives in its share of the deadline is there, the rest is said to be missing; writes may be late."""

SQL_FULL: Final = Prescription(
    NORMAL.sections,
    {
        **NORMAL.failures,
        # A page that has room still takes a row.
        Kind.FACTS: frozenset({OK, FULL}),
        Kind.TURNS: frozenset({OK, FULL}),
    },
    allowed=frozenset({NOT_DURABLE}),
)
"""The disk is full: reads are as ever, writes say so."""

SQL_READ_ONLY: Final = Prescription(
    NORMAL.sections,
    _WRITES_FAIL | {Kind.SLOTS: frozenset({OK, UNAVAILABLE})},
    required=frozenset({NOT_DURABLE}),
)
"""Reads are as ever, nothing durable is written."""

ANYTHING: Final = Prescription(
    {},
    {
        kind: frozenset(
            {OK, UNAVAILABLE, FULL, TOO_LATE, TOO_LATE_AT_CLIENT, NOBODY_THERE, CANCELLED, STOPPING}
        )
        for kind in Kind
    },
    allowed=frozenset({NOT_DURABLE, NOT_SAVED}),
)
"""While servers are killed again and again: only the rules that hold for every single answer are judged."""
