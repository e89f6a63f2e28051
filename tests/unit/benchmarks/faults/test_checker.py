"""The checker on recorded outcomes: a good run breaks nothing, and each thing that may go wrong breaks its own rule."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from benchmarks.faults.checker import Expectations, FloorMissed, check, require_floor
from benchmarks.faults.outcomes import (
    Answer,
    Kind,
    Outcome,
    ReadBack,
    Record,
    Shown,
    StoredLink,
    StoredTurn,
    Timeline,
)
from benchmarks.faults.people import Canary, people
from benchmarks.faults.prescriptions import NORMAL, REDIS_AWAY, SQL_AWAY, Rules
from benchmarks.faults.stored import GENESIS
from benchmarks.faults.verdict import Rule

PEOPLE = people(run=1, more=0)[:2]
ANN, BOB = PEOPLE
TIMELINE = Timeline(steady=0.0, fault=10.0, healed=20.0, ended=30.0)
PLAIN = {name: Shown("OK") for name in ("PREFIX", "FACTS", "HISTORY", "SESSION", "QUESTION")}
CALM = Rules(NORMAL, settle=1.0, recovery=2.0)
REDIS = Rules(REDIS_AWAY, settle=1.0, recovery=2.0, forgets_slots=True)
SQL = Rules(SQL_AWAY, settle=1.0, recovery=5.0)


def canary(kind: str, number: int, person: int = 0) -> Canary:
    return Canary(1, person, kind, number)


def prompt(number: int, at: float, seconds: float = 0.01, **changes: Shown) -> Outcome:
    """An OK answer for Ann."""
    answer = Answer(f"trace-{number}", {**PLAIN, **changes}, canaries=(canary("q", number),))
    return Outcome(Kind.ASSEMBLE, 0, 0, number, at, at + seconds, answer=answer)


def shows(
    outcome: Outcome,
    *,
    facts: Mapping[int, int] | None = None,
    slot: int = -1,
    warnings: tuple[str, ...] = (),
) -> Outcome:
    assert outcome.answer is not None
    answer = replace(outcome.answer, facts=facts or {}, slot=slot, warnings=warnings)
    return replace(outcome, answer=answer)


def fact(number: int, at: float, gateway: int = 0) -> Outcome:
    return Outcome(Kind.FACTS, 0, gateway, number, at, at + 0.01)


def slot(number: int, at: float) -> Outcome:
    return Outcome(Kind.SLOTS, 0, 0, number, at, at + 0.01)


def failed(
    outcome: Outcome, code: str, reason: str = "STORAGE_UNAVAILABLE", *, retry: bool = True
) -> Outcome:
    return replace(outcome, code=code, reason=reason, retry=retry, answer=None)


def link(number: int, sequence: int, previous: str = "") -> StoredLink:
    before = previous or (GENESIS if sequence == 1 else f"hash-{sequence - 1}")
    return StoredLink(
        f"trace-{number}", ANN.user_id, ANN.session_id, f"a{number}", sequence, f"hash-{sequence}", before
    )


def stored(*outcomes: Outcome) -> ReadBack:
    """What is there when all that was acknowledged is, once."""
    done = [one for one in outcomes if one.ok]
    prompts = [one.number for one in done if one.kind is Kind.ASSEMBLE]
    answers = [one.number for one in done if one.kind is Kind.TURNS]
    turns = [StoredTurn(f"a{number}", str(canary("q", number))) for number in prompts]
    turns += [StoredTurn(f"r{number}", str(canary("r", number))) for number in answers]
    facts = tuple(str(canary("f", one.number)) for one in done if one.kind is Kind.FACTS)
    links = tuple(link(number, sequence) for sequence, number in enumerate(prompts, 1))
    return ReadBack({0: facts, 1: ()}, {0: tuple(turns), 1: ()}, {ANN.tenant_id: links})


def broken(
    *outcomes: Outcome, rules: Rules = CALM, read: ReadBack | None = None, gateways: int = 1
) -> frozenset[Rule]:
    record = Record(PEOPLE, TIMELINE, outcomes, stored(*outcomes) if read is None else read)
    return check(record, Expectations(rules, deadline=2.0, gateways=gateways)).findings.broken


NONE: frozenset[Rule] = frozenset()
GONE = Shown("UNAVAILABLE", "UNAVAILABLE")
DENIED = Shown("DENIED", "UNAVAILABLE")


def test_a_good_run_breaks_nothing():
    turn = Outcome(Kind.TURNS, 0, 0, 7, 3.0, 3.1)
    assert broken(fact(4, 1.0), slot(5, 1.0), turn, shows(prompt(6, 2.0), facts={0: 4}, slot=5)) == NONE


@pytest.mark.parametrize("code", ["UNKNOWN", "INTERNAL"])
def test_a_fault_without_a_type_is_found_anywhere(code: str):
    assert broken(failed(prompt(1, 5.0), code, "INTERNAL")) == {Rule.UNTYPED, Rule.PRESCRIBED}
    assert broken(failed(fact(1, 5.0), code, "")) == {Rule.UNTYPED, Rule.WRITE_PRESCRIBED}


def test_an_answer_after_its_deadline_is_late_and_not_as_prescribed():
    assert broken(prompt(1, 5.0, seconds=2.2)) == {Rule.LATE, Rule.PRESCRIBED}


def test_what_is_another_person_s_is_foreign_in_answers_facts_and_turns():
    other = canary("f", 1, person=1)
    one = prompt(1, 5.0)
    assert one.answer is not None
    assert broken(replace(one, answer=replace(one.answer, canaries=(other,)))) == {Rule.FOREIGN}
    read = stored(one)
    assert broken(one, read=replace(read, facts={0: (str(other),), 1: ()})) == {Rule.FOREIGN}
    turns = (*read.turns[0], StoredTurn("a1", str(other)))
    assert Rule.FOREIGN in broken(one, read=replace(read, turns={0: turns, 1: ()}))


def test_another_run_s_canary_of_the_same_person_is_foreign():
    one = prompt(1, 5.0)
    assert one.answer is not None
    answer = replace(one.answer, canaries=(Canary(2, 0, "q", 1),))
    assert broken(replace(one, answer=answer)) == {Rule.FOREIGN}


def test_an_older_value_than_this_gateway_acknowledged_is_stale_unless_the_section_says_so():
    seen = shows(prompt(8, 2.0), facts={0: 0})
    assert broken(fact(0, 1.0), fact(4, 1.5), seen) == {Rule.STALE}
    said = shows(
        prompt(8, 12.0, FACTS=Shown("STALE", "UNAVAILABLE")), facts={0: 0}, warnings=("trace_not_durable",)
    )
    assert Rule.STALE not in broken(fact(0, 1.0), fact(4, 1.5), said, rules=SQL)


def test_another_gateway_may_lag_a_second_and_no_longer():
    soon, later = shows(prompt(8, 2.5), facts={0: 0}), shows(prompt(9, 3.0), facts={0: 0})
    writes = fact(0, 0.1), fact(4, 1.5, gateway=1)
    assert broken(*writes, soon, gateways=2) == NONE
    assert broken(*writes, later, gateways=2) == {Rule.STALE}


def test_a_value_that_was_acknowledged_after_the_question_need_not_be_there():
    assert broken(fact(0, 1.0), fact(4, 2.0), shows(prompt(8, 2.005), facts={0: 0})) == NONE


def test_an_older_slot_is_stale_unless_the_store_forgets():
    asked = shows(prompt(8, 25.0), slot=1)
    assert broken(slot(1, 1.0), slot(2, 2.0), asked) == {Rule.STALE}
    assert broken(slot(1, 1.0), slot(2, 2.0), asked, rules=REDIS) == NONE
    assert broken(slot(1, 1.0), slot(2, 21.0), asked, rules=REDIS) == {Rule.STALE}


def test_a_repeat_may_show_what_was_so_when_its_turn_was_asked_for_first():
    first = failed(prompt(8, 1.05), "UNAVAILABLE")
    rules = replace(CALM, normal=NORMAL.with_failures("UNAVAILABLE/STORAGE_UNAVAILABLE"))
    assert broken(fact(0, 1.0), first, fact(4, 1.5), shows(prompt(8, 2.0), facts={0: 0}), rules=rules) == NONE


def test_an_acknowledged_write_that_is_not_there_is_lost():
    turn = Outcome(Kind.TURNS, 0, 0, 7, 3.0, 3.1)
    for write in (fact(4, 1.0), turn):
        assert broken(write, read=stored()) == {Rule.LOST}
    asked = prompt(6, 2.0)
    read = replace(stored(asked), turns={0: (), 1: ()})
    assert broken(asked, read=read) == {Rule.LOST}


def test_a_write_that_was_not_acknowledged_may_be_there_or_not():
    unsure = failed(fact(4, 12.0), "UNAVAILABLE")
    assert broken(unsure, rules=SQL) == NONE
    assert broken(unsure, rules=SQL, read=stored(fact(4, 12.0))) == NONE


def test_what_is_there_twice_is_doubled():
    asked = prompt(6, 0.5)
    twice = stored(fact(4, 1.0), fact(4, 1.0), asked)
    assert broken(fact(4, 1.0), asked, read=twice) == {Rule.DOUBLED}
    links = link(6, 1), replace(link(6, 2), name="trace-6-again")
    assert broken(asked, read=replace(stored(asked), traces={ANN.tenant_id: links})) == {Rule.DOUBLED}


def test_what_nobody_asked_for_is_invented():
    assert broken(read=stored(fact(4, 1.0))) == {Rule.INVENTED}


def test_an_answer_without_its_trace_is_found_even_if_it_said_so():
    asked = prompt(6, 12.0, FACTS=DENIED, HISTORY=DENIED, SESSION=DENIED)
    said = shows(asked, warnings=("trace_not_durable: it is spooled",))
    read = replace(stored(said), traces={ANN.tenant_id: ()})
    assert broken(said, rules=SQL, read=read) == {Rule.UNTRACED}
    assert broken(said, rules=SQL) == NONE


@pytest.mark.parametrize(
    "links",
    [
        (link(1, 1), link(2, 3)),
        (link(1, 1), link(2, 2, previous="hash-9")),
        (link(1, 1, previous="hash-0"), link(2, 2)),
    ],
)
def test_a_gap_or_a_wrong_link_breaks_the_chain(links: tuple[StoredLink, ...]):
    asked = prompt(1, 2.0), prompt(2, 2.0)
    assert broken(*asked, read=replace(stored(*asked), traces={ANN.tenant_id: links})) == {Rule.CHAIN}


def test_under_the_fault_only_what_is_said_is_right():
    silent, said = prompt(1, 15.0), prompt(2, 15.0, SESSION=GONE)
    assert broken(said, rules=REDIS) == NONE
    assert broken(silent, rules=REDIS) == {Rule.PRESCRIBED}


def test_a_required_warning_must_be_there_and_no_other_may():
    asked = prompt(1, 15.0, FACTS=DENIED, HISTORY=DENIED, SESSION=DENIED)
    spooled = ("trace_not_durable",)
    assert broken(shows(asked, warnings=spooled), rules=SQL) == NONE
    assert broken(asked, rules=SQL) == {Rule.PRESCRIBED}
    assert broken(shows(asked, warnings=(*spooled, "something_else")), rules=SQL) == {Rule.PRESCRIBED}


def test_an_unavailable_write_says_when_to_try_again():
    assert broken(failed(fact(1, 15.0), "UNAVAILABLE"), rules=SQL) == NONE
    assert broken(failed(fact(1, 15.0), "UNAVAILABLE", retry=False), rules=SQL) == {Rule.WRITE_PRESCRIBED}
    assert broken(failed(fact(1, 15.0), "UNAVAILABLE", ""), rules=SQL) == {Rule.WRITE_PRESCRIBED}


def test_without_the_fault_a_degraded_answer_is_wrong():
    assert broken(prompt(1, 5.0, SESSION=GONE), rules=REDIS) == {Rule.PRESCRIBED}
    assert broken(prompt(1, 25.0, SESSION=GONE), rules=REDIS) == {Rule.PRESCRIBED}


@pytest.mark.parametrize("at", [9.995, 10.5, 19.995, 21.0])
def test_where_the_state_changes_both_are_right(at: float):
    assert broken(prompt(1, at), prompt(2, at, SESSION=GONE), rules=REDIS) == NONE


def test_shares_count_what_was_asked_for_during_the_fault():
    outcomes = [prompt(1, 5.0), prompt(2, 15.0), prompt(3, 16.0, SESSION=GONE), prompt(4, 25.0)]
    writes = [slot(5, 15.0), failed(slot(6, 15.0), "UNAVAILABLE")]
    record = Record(PEOPLE, TIMELINE, (*outcomes, *writes), stored(*outcomes))
    verdict = check(record, Expectations(REDIS, deadline=2.0))
    assert (verdict.calls, verdict.right, verdict.writes, verdict.writes_right) == (2, 1, 2, 1)
    assert (verdict.share, verdict.writes_share) == (50.0, 50.0)


def test_recovery_lasts_until_the_last_prompt_that_was_not_as_ever():
    outcomes = prompt(1, 20.4, SESSION=GONE), prompt(2, 20.9, SESSION=GONE), prompt(3, 20.95)
    record = Record(PEOPLE, TIMELINE, outcomes, stored(*outcomes))
    assert check(record, Expectations(REDIS, deadline=2.0)).recovery == pytest.approx(0.9)


def test_a_run_with_thin_traffic_does_not_count():
    outcomes = tuple(prompt(number, number / 10) for number in range(50))
    verdict = check(Record(PEOPLE, TIMELINE, outcomes, stored(*outcomes)), Expectations(CALM, deadline=2.0))
    assert verdict.steady_rate == pytest.approx(5.0)
    require_floor(verdict, 5.0, felt=False)
    with pytest.raises(FloorMissed, match="only 5 prompts a second"):
        require_floor(verdict, 5.1, felt=False)


def test_a_run_whose_fault_nobody_felt_does_not_count():
    asked = prompt(1, 15.0), prompt(2, 15.0, SESSION=GONE)
    for outcomes, felt in ((asked[:1], 0), (asked, 1)):
        record = Record(PEOPLE, TIMELINE, outcomes, stored(*outcomes))
        assert check(record, Expectations(REDIS, deadline=2.0)).felt == felt
    verdict = check(Record(PEOPLE, TIMELINE, asked[:1], stored(asked[0])), Expectations(REDIS, deadline=2.0))
    require_floor(verdict, 0.0, felt=False)
    with pytest.raises(FloorMissed, match="nothing came out otherwise"):
        require_floor(verdict, 0.0, felt=True)
