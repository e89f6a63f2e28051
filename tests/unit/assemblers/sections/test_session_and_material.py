"""Slots in one fenced block, today's date, and the caller's documents."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from assemblers import SourceKind
from assemblers.policy.model import SectionBudget, SessionSection
from assemblers.records import Certainty, Filter, Focus, RecentQuestion, SectionKind, SectionStatus, Slots
from tests.assembling import NOW, WORDS, Case, fates, material, policy, section_text, spans_by_item

FOCUS = Focus("customer", "C-77", "Hofmann", Certainty.CONFIRMED, "tool", "t1")
FULL = Slots(
    FOCUS,
    (
        Filter("period", "Q3", Certainty.TENTATIVE, "user", "t1"),
        Filter("region", "EMEA", Certainty.CONFIRMED, "tool", "t1"),
    ),
    "short",
    tuple(RecentQuestion(f"t{n}", f"Question {n}?") for n in range(1, 4)),
)


def shown(slots: Slots, settings: SessionSection | None = None, **budget: int) -> str:
    own = policy(settings or SessionSection(show_today=False), session=SectionBudget(**budget))
    return section_text(Case(policy=own, slots=slots).assemble().prompt, SectionKind.SESSION)


def test_empty_slots_say_nothing():
    assert shown(Slots()) == ""


def test_slots_are_one_fenced_block():
    assert shown(FULL).splitlines() == [
        "Session so far", "```", "- About: Hofmann (customer C-77)", "- Filter period: Q3 (assumed)",
        "- Filter Region: EMEA", "- Answer format: short", '- Earlier question: "Question 1?"',
        '- Earlier question: "Question 2?"', '- Earlier question: "Question 3?"', "```",
    ]  # fmt: skip


def test_a_tentative_focus_is_said_to_be_one_and_a_label_or_id_alone_will_do():
    tentative = replace(FOCUS, certainty=Certainty.TENTATIVE)
    assert "- Probably about: Hofmann (customer C-77)\n" in shown(Slots(tentative))
    assert "- About: customer C-77\n" in shown(Slots(replace(FOCUS, label="")))
    assert "- About: Hofmann\n" in shown(Slots(replace(FOCUS, type="", id="")))


def test_a_long_question_is_shortened_between_words():
    slots = Slots(recent_questions=(RecentQuestion("t1", "one two three four"),))
    assert '- Earlier question: "one two…"\n' in shown(
        slots, SessionSection(show_today=False, max_question_characters=10)
    )


def test_when_not_all_slots_fit_the_oldest_question_goes_first_and_the_focus_last():
    whole = WORDS.counter.count(shown(FULL))
    assert shown(FULL, ceiling_tokens=whole) == shown(FULL)
    assert shown(FULL, ceiling_tokens=whole - 1) == shown(FULL).replace(
        '- Earlier question: "Question 1?"\n', ""
    )
    assert shown(FULL, ceiling_tokens=20).splitlines()[2:-1] == ["- About: Hofmann (customer C-77)"]


def test_today_is_the_date_of_the_callers_zone_and_stands_without_a_fence():
    late = datetime(2026, 11, 29, 23, 59, tzinfo=UTC)
    for zone, line in (
        (UTC, "Today is 2026-11-29 (UTC).\n"),
        (ZoneInfo("Asia/Tokyo"), "Today is 2026-11-30 (Asia/Tokyo).\n"),
        (timezone(timedelta(hours=2)), "Today is 2026-11-30 (UTC+02:00).\n"),
    ):
        prompt = Case(now=late, zone=zone).assemble().prompt
        assert section_text(prompt, SectionKind.SESSION) == line
        (span,) = prompt.messages[-1].parts[0].spans
        assert (span.item_id, span.source.kind) == ("today", SourceKind.POLICY_TEXT)


def test_a_minute_past_midnight_it_is_another_day():
    before = datetime(2026, 11, 29, 23, 59, tzinfo=UTC)
    texts = [
        section_text(Case(now=now).assemble().prompt, SectionKind.SESSION)
        for now in (before, before + timedelta(minutes=2))
    ]
    assert texts == ["Today is 2026-11-29 (UTC).\n", "Today is 2026-11-30 (UTC).\n"]


def test_slots_are_spans_of_their_own():
    own = policy(SessionSection(show_today=False))
    items = spans_by_item(Case(policy=own, slots=FULL).assemble().prompt)
    assert [item for item in items if item.startswith("slot/")] == [
        "slot/focus", "slot/filter/period", "slot/filter/region", "slot/format",
        "slot/question/t1", "slot/question/t2", "slot/question/t3",
    ]  # fmt: skip


def test_material_keeps_the_callers_order_and_is_whole_or_absent():
    documents = [
        material(0, "word " * 500, title="Long"),
        material(1, "short", title="Short"),
        material(2, "last"),
    ]
    assembly = Case(material=documents[::-1], limit=300).assemble()
    items = spans_by_item(assembly.prompt)
    assert [item for item in items if item.startswith("material/")] == ["material/1", "material/2"]
    assert fates(assembly)["material/0"] == ("EXCLUDED", "OVER_BUDGET", "budget.max_input_tokens")
    line = assembly.prompt.budget.sections[3]
    assert (line.status, line.included, line.dropped) == (SectionStatus.TRUNCATED, 2, 1)


def test_material_without_title_or_source_still_says_what_it_is():
    text = section_text(
        Case(material=[material(0, "x", title="", source="")]).assemble().prompt, SectionKind.MATERIAL
    )
    assert text.splitlines()[1:] == ["- Untitled (source unnamed, read 3 days ago, 2026-11-26):", "  > x"]


def test_material_read_now_and_its_revision_are_shown():
    text = section_text(
        Case(material=[material(0, "x", read_time=NOW, document_revision="r7")]).assemble().prompt,
        SectionKind.MATERIAL,
    )
    assert "- Terms (source kb/0, revision r7, read today, 2026-11-29):\n" in text
