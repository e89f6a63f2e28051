"""Prescriptions: what a union permits, and that each fault's own answer is right in it and wrong without it."""

import pytest

from benchmarks.faults.outcomes import Answer, Kind, Outcome, Shown
from benchmarks.faults.prescriptions import (
    ANYTHING,
    FULL,
    NORMAL,
    REDIS_AWAY,
    REDIS_NOT_WRITING,
    SQL_AWAY,
    SQL_FULL,
    SQL_READ_ONLY,
    SQL_SLOW,
    Prescription,
    union,
)

OK = Shown("OK")
SECTIONS = ("PREFIX", "FACTS", "HISTORY", "SESSION", "QUESTION")


def answer(*warnings: str, **sections: str) -> Outcome:
    shown = {name: Shown(sections.get(name, "OK")) for name in SECTIONS}
    return Outcome(Kind.ASSEMBLE, 0, 0, 1, 0.0, 0.1, answer=Answer("t", shown, warnings))


def write(kind: Kind, failure: str) -> Outcome:
    code, _, reason = failure.partition("/")
    return Outcome(kind, 0, 0, 1, 0.0, 0.1, code, reason, retry=True)


@pytest.mark.parametrize(
    ("prescription", "outcome"),
    [
        (REDIS_AWAY, answer(SESSION="UNAVAILABLE")),
        (REDIS_NOT_WRITING, answer("slots_not_saved: in words")),
        (SQL_AWAY, answer("trace_not_durable", FACTS="STALE", HISTORY="STALE")),
        (SQL_AWAY, answer("trace_not_durable", FACTS="DENIED", HISTORY="DENIED", SESSION="DENIED")),
        (SQL_SLOW, answer(FACTS="UNAVAILABLE")),
        (SQL_FULL, answer("trace_not_durable")),
        (SQL_FULL, write(Kind.FACTS, FULL)),
        (SQL_READ_ONLY, answer("trace_not_durable")),
        (REDIS_AWAY, write(Kind.SLOTS, "UNAVAILABLE/STORAGE_UNAVAILABLE")),
        (SQL_AWAY, write(Kind.TURNS, "UNAVAILABLE/STORAGE_UNAVAILABLE")),
    ],
)
def test_the_answer_of_a_fault_is_right_under_it_and_wrong_without_it(
    prescription: Prescription, outcome: Outcome
):
    assert prescription.permits(outcome)
    assert not NORMAL.permits(outcome)
    assert union(NORMAL, prescription).permits(outcome)


@pytest.mark.parametrize("prescription", [REDIS_AWAY, REDIS_NOT_WRITING, SQL_AWAY, SQL_READ_ONLY])
def test_a_plain_answer_is_wrong_while_a_store_is_away(prescription: Prescription):
    assert not prescription.permits(answer())
    assert union(NORMAL, prescription).permits(answer())


@pytest.mark.parametrize("section", ["PREFIX", "QUESTION"])
def test_prefix_and_question_are_always_there(section: str):
    assert not SQL_AWAY.permits(
        answer("trace_not_durable", FACTS="DENIED", HISTORY="DENIED", **{section: "EMPTY"})
    )


def test_a_durable_write_is_never_acknowledged_while_nothing_can_be_written():
    for prescription in (SQL_AWAY, SQL_READ_ONLY):
        assert not prescription.permits(write(Kind.FACTS, "OK"))


def test_a_section_that_one_state_says_nothing_of_may_come_out_in_any_way():
    assert union(NORMAL, ANYTHING).permits(answer(FACTS="DENIED"))


def test_the_words_of_a_degradation_are_no_warning_of_their_own():
    assert REDIS_AWAY.permits(answer("SESSION: in words", SESSION="UNAVAILABLE"))
    assert not REDIS_AWAY.permits(answer("ELSEWHERE: in words", SESSION="UNAVAILABLE"))
