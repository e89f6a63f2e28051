"""Facts: which are shown, how their lines read, and how long they may be reused."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from assemblers import prepare_facts
from assemblers.policy.model import FactKey, FactsSection, Policy, PolicyRevision, SectionBudget
from assemblers.records import Fact, FactKind, FactOrigin, FactState, SectionKind, Subject, ValueType
from assemblers.sections.fact_lines import value_text
from tests.assembling import DAY, NOW, WORDS, Case, excerpt, fact, fates, policy, section_text, spans_by_item


def line(one: Fact, **changes: object) -> str:
    case = replace(Case(facts=[one]), **changes)  # type: ignore[arg-type]  # the keywords are fields of Case
    return spans_by_item(case.assemble().prompt)[f"fact/{one.no}"]


def test_a_line_carries_kind_source_origin_age_and_date():
    stated = fact(1, "diet", "vegan", kind=FactKind.PREFERENCE, origin=FactOrigin.STATED, source="chat")
    assert (
        line(stated)
        == '- diet: "vegan" (preference, source chat, stated by the user, read 14 days ago, 2026-11-15)\n'
    )


def test_the_policys_own_values_stand_without_quotes():
    own = policy()
    listed = FactKey("plan", ValueType.TEXT, FactKind.ATTRIBUTE, "a test", values=("starter", "team"))
    own = replace(own, policy=replace(own.policy, facts=replace(own.policy.facts, allowlist=(listed,))))
    assert line(fact(1, "plan", "team"), policy=own).startswith("- plan: team (")
    assert line(fact(1, "plan", "gold"), policy=own).startswith('- plan: "gold" (')


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (ValueType.FLAG, True, "yes"),
        (ValueType.FLAG, False, "no"),
        (ValueType.INTEGER, -12, "-12"),
        (ValueType.NUMBER, 2.0, "2"),
        (ValueType.NUMBER, 0.1, "0.1"),
        (ValueType.NUMBER, 1e300, "1e+300"),
        (
            ValueType.INSTANT,
            datetime(2026, 5, 1, 10, tzinfo=ZoneInfo("Europe/Berlin")),
            "2026-05-01T08:00:00Z",
        ),
        (ValueType.TEXT, " a\nb ", r"a\nb"),
    ],
)
def test_values_are_shown_by_type(kind: ValueType, value: str | float | datetime, shown: str):
    assert value_text(fact(1, "plan", value, type=kind)) == shown


def test_another_subject_than_the_user_is_named_and_has_its_own_current_value():
    facts = [fact(1, "plan", "team"), fact(2, "plan", "gold", subject=Subject("account", "C-77"))]
    shown = section_text(Case(facts=facts).assemble().prompt, SectionKind.FACTS)
    assert '- account C-77, plan: "gold"' in shown
    assert '- plan: "team"' in shown


def test_lines_are_sorted_by_key_and_chosen_without_looking_at_the_question():
    facts = [fact(1, "trip", "x"), fact(2, "diet", "y"), fact(3, "plan", "z")]
    for question in ("trip?", "diet?"):
        prompt = Case(question=question, facts=facts).assemble().prompt
        assert [item for item in spans_by_item(prompt) if item.startswith("fact/")] == [
            "fact/2",
            "fact/3",
            "fact/1",
        ]


def test_an_expired_fact_is_out_from_that_very_instant():
    one = fact(1, "plan", "team", expire_time=NOW)
    assert fates(Case(facts=[one], now=NOW - timedelta(microseconds=1)).assemble())["fact/1"][0] == "INCLUDED"
    assert fates(Case(facts=[one]).assemble())["fact/1"] == ("EXCLUDED", "EXPIRED", "facts.ttl")


def test_of_two_current_readings_the_later_one_wins_and_an_expired_one_shadows_the_older():
    older, newer = fact(1, "plan", "old", read_time=NOW - 20 * DAY, revision=9), fact(2, "plan", "new")
    assert fates(Case(facts=[older, newer]).assemble())["fact/1"][1] == "SUPERSEDED"
    gone = replace(newer, expire_time=NOW)
    assert {fate[1] for item, fate in fates(Case(facts=[older, gone]).assemble()).items() if "fact/" in item} == {
        "SUPERSEDED", "EXPIRED",
    }  # fmt: skip


def test_when_not_all_fit_the_surest_and_the_newest_stay():
    keys = [f"k{number:03}" for number in range(300)]
    facts = [fact(n + 1, key, "v", read_time=NOW - (300 - n) * DAY) for n, key in enumerate(keys)]
    facts[0] = replace(facts[0], state=FactState.SUPERSEDED, superseded_by=300)
    own = policy(FactsSection(max_facts=100), keys=keys)
    found = fates(Case(policy=own, facts=facts).assemble())
    assert found["fact/1"][1] == "SUPERSEDED"
    assert found["fact/300"][0] == "INCLUDED"
    assert found["fact/2"] == ("EXCLUDED", "OVER_CEILING", "sections[1].facts.max_facts")
    assert sum(fate[0] == "INCLUDED" for item, fate in found.items() if item.startswith("fact/")) == 100


def test_the_heading_is_there_only_with_a_fact():
    assert section_text(Case().assemble().prompt, SectionKind.FACTS) == ""
    blank = policy(FactsSection(heading=" ", precedence=""))
    shown = section_text(
        Case(policy=blank, facts=[fact(1, "plan", "x")]).assemble().prompt, SectionKind.FACTS
    )
    assert shown.startswith("- plan")


def test_a_heading_that_would_merge_with_the_line_before_it_is_kept_apart():
    odd = policy(FactsSection(heading="/facts\nSystem:"))
    shown = section_text(Case(policy=odd, facts=[fact(1, "plan", "x")]).assemble().prompt, SectionKind.FACTS)
    assert shown.splitlines()[0] == r"- /facts\nSystem:"


def test_a_fact_said_word_for_word_in_an_excerpt_is_rendered_once():
    said = "I cannot eat peanuts"
    one = fact(1, "diet", said, type=ValueType.STATEMENT)
    assembly = Case(
        question="peanuts?", facts=[one], excerpts=[excerpt(1, said), excerpt(2, f"{said}!")]
    ).assemble()
    found = fates(assembly)
    assert found["fact/1"][0] == "INCLUDED"
    assert found["excerpt/1"] == ("EXCLUDED", "DUPLICATE", "")
    assert found["excerpt/2"][0] == "INCLUDED"


def test_preparations_hold_until_midnight_in_the_zone_or_the_next_expiry():
    own, zone = policy(), ZoneInfo("America/New_York")
    facts = [
        fact(1, "plan", "team", expire_time=NOW + 60 * DAY),
        fact(2, "diet", "x", expire_time=NOW + DAY * 2),
    ]
    made = prepare_facts(own, facts, NOW, zone, WORDS)
    assert made.valid_until == datetime(2026, 11, 30, 5, tzinfo=UTC)
    soon = replace(facts[0], expire_time=NOW + timedelta(seconds=1))
    made = prepare_facts(own, [soon], NOW, zone, WORDS)
    assert [made.covers(NOW + timedelta(milliseconds=ms)) for ms in (-1, 0, 999, 1000)] == [
        False,
        True,
        True,
        False,
    ]


def test_ages_follow_the_zone_of_the_caller():
    late = fact(1, "plan", "x", read_time=datetime(2026, 11, 25, 2, tzinfo=UTC))
    assert "read 4 days ago, 2026-11-25)" in line(late)
    assert "read 5 days ago, 2026-11-24)" in line(late, zone=ZoneInfo("America/Los_Angeles"))


def test_a_reading_from_the_future_is_not_older_than_today():
    assert "read today, 2026-12-01)" in line(fact(1, "plan", "x", read_time=NOW + 2 * DAY))


def test_a_policy_without_facts_prepares_none():
    with pytest.raises(ValueError, match="no FACTS section"):
        prepare_facts(PolicyRevision("", "00", Policy("bare", ())), (), NOW, UTC, WORDS)


def test_facts_within_the_ceiling_but_over_the_budget_are_chosen_anew():
    facts = [fact(1, "diet", "x" * 40), fact(2, "plan", "y"), fact(3, "trip", "z", confidence_permille=900)]
    own = policy(facts=SectionBudget(ceiling_tokens=500))
    roomy = Case(policy=own, facts=facts).assemble().prompt
    tight = fates(Case(policy=own, facts=facts, limit=roomy.budget.used - 20).assemble())
    assert [tight[f"fact/{no}"][1] for no in (1, 2, 3)] == ["WITHIN_BUDGET", "WITHIN_BUDGET", "OVER_BUDGET"]
