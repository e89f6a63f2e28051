"""History: dated, labelled, in order of time; what is left out and why."""

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np

from assemblers.policy.model import ArchiveRules, HistorySection, SectionBudget
from assemblers.records import Excerpt, Role, SectionKind, SectionStatus
from assemblers.sections.archive import date_line, prepare_archive, speaker_name
from tests.assembling import NOW, WORDS, Case, excerpt, fates, policy, section_text


def shown(excerpts: list[Excerpt], **changes: object) -> str:
    case = replace(Case(question="credit terms", excerpts=excerpts), **changes)  # type: ignore[arg-type]
    return section_text(case.assemble().prompt, SectionKind.HISTORY)


def test_sessions_stand_in_order_of_time_each_under_its_date():
    found = shown([
        excerpt(1, "credit terms again and credit", session=2, days=3),
        excerpt(2, "credit", session=1, days=40),
        excerpt(3, "terms", session=1, days=40),
    ])  # fmt: skip
    assert found.splitlines()[1:] == [
        "- 2026-10-20 (40 days ago):", "- User: credit", "- User: terms",
        "- 2026-11-26 (3 days ago):", "- User: credit terms again and credit",
    ]  # fmt: skip


def test_dates_and_ages_are_those_of_the_callers_zone():
    time = datetime(2026, 11, 25, 2, tzinfo=UTC)
    assert date_line(time, NOW, UTC) == "- 2026-11-25 (4 days ago):\n"
    assert date_line(time, NOW, ZoneInfo("America/Los_Angeles")) == "- 2026-11-24 (5 days ago):\n"


def test_a_past_session_is_dated_by_its_own_day_whatever_it_says():
    old = datetime(2023, 5, 8, 12, tzinfo=UTC)
    found = shown([excerpt(1, "credit terms since yesterday", session_time=old)])
    assert "- 2023-05-08 (1301 days ago):\n- User: credit terms since yesterday\n" in found


def test_who_spoke_is_named_and_what_is_not_a_persons_word_is_labelled():
    assert speaker_name(excerpt(1, "x", speaker="Caroline")) == "Caroline"
    assert speaker_name(excerpt(1, "x")) == "User"
    assert speaker_name(excerpt(1, "x", role=Role.ASSISTANT)) == "Assistant"
    assert speaker_name(excerpt(1, "x", role=Role.ASSISTANT, speaker="Ava")) == "Ava (assistant)"
    assert speaker_name(excerpt(1, "x", role=Role.ASSISTANT, speaker="assistant")) == "Assistant"
    assert speaker_name(excerpt(1, "x", role=Role.TOOL)) == "Tool"


def test_the_assistants_words_stay_out_unless_the_policy_admits_them():
    own = policy()
    strict = replace(own, policy=replace(own.policy, archive=ArchiveRules()))
    said = [excerpt(1, "credit terms", role=Role.ASSISTANT), excerpt(2, "credit")]
    found = fates(Case(question="credit terms", policy=strict, excerpts=said).assemble())
    assert found["excerpt/1"] == ("EXCLUDED", "KEY_NOT_ALLOWED", "archive.include_assistant")
    assert found["excerpt/2"][0] == "INCLUDED"


def test_the_archived_part_of_the_current_session_is_skipped_where_the_policy_says_so():
    said = [excerpt(1, "credit terms", session=1), excerpt(2, "credit", session=2)]
    case = Case(question="credit terms", excerpts=said, session_id="s1")
    assert fates(case.assemble())["excerpt/1"] == (
        "EXCLUDED", "DUPLICATE", "sections[2].history.skip_current_session",
    )  # fmt: skip
    kept = replace(case, policy=policy(HistorySection(skip_current_session=False)))
    assert fates(kept.assemble())["excerpt/1"][0] == "INCLUDED"


def test_the_same_words_of_the_same_speaker_are_shown_once_and_the_best_stays():
    said = [excerpt(n, "credit terms", session=n, days=50 - n) for n in range(1, 4)]
    said.append(excerpt(4, "credit terms", session=4, days=9, speaker="Bo"))
    found = fates(Case(question="credit terms", excerpts=said).assemble())
    assert [found[f"excerpt/{n}"][:2] for n in range(1, 5)] == [
        ("EXCLUDED", "DUPLICATE"), ("EXCLUDED", "DUPLICATE"),
        ("INCLUDED", "WITHIN_BUDGET"), ("INCLUDED", "WITHIN_BUDGET"),
    ]  # fmt: skip


def test_excerpts_below_the_threshold_are_out_by_that_field():
    own = policy(HistorySection(min_score_micros=10**12))
    assembly = Case(question="credit", policy=own, excerpts=[excerpt(1, "credit")]).assemble()
    assert fates(assembly)["excerpt/1"] == (
        "EXCLUDED", "BELOW_THRESHOLD", "sections[2].history.min_score_micros",
    )  # fmt: skip


def test_the_most_excerpts_bound_what_is_shown_and_that_is_no_loss():
    own = policy(HistorySection(max_excerpts=2))
    said = [excerpt(n, f"credit number {n}", session=n, days=90 - n) for n in range(1, 6)]
    assembly = Case(question="credit", policy=own, excerpts=said).assemble()
    found = [fate for item, fate in fates(assembly).items() if item.startswith("excerpt/")]
    assert [fate[0] for fate in found].count("INCLUDED") == 2
    assert {fate[2] for fate in found} == {"", "sections[2].history.max_excerpts"}
    line = assembly.prompt.budget.sections[2]
    assert (line.status, line.included, line.dropped) == (SectionStatus.OK, 2, 3)


def test_date_lines_count_against_the_ceiling_and_the_heading_does_not():
    said = [excerpt(n, "credit", session=n, days=90 - n, speaker=f"p{n}") for n in range(1, 9)]
    one = Case(question="credit", excerpts=said[:1]).assemble().prompt.budget.sections[2].used
    date, text = WORDS.counter.count("- 2026-09-01 (89 days ago):\n"), WORDS.counter.count("- p1: credit\n")
    assert one == date + text
    for ceiling in (one - 1, one, 2 * one - 1, 2 * one):
        own = policy(history=SectionBudget(ceiling_tokens=ceiling))
        line = Case(question="credit", policy=own, excerpts=said).assemble().prompt.budget.sections[2]
        assert (line.included, line.used) == (ceiling // one, ceiling // one * one)


def test_one_excerpt_larger_than_the_budget_is_left_out_whole_and_said():
    own = policy(history=SectionBudget(ceiling_tokens=200))
    assembly = Case(question="credit", policy=own, excerpts=[excerpt(1, "credit " * 2000)]).assemble()
    line = assembly.prompt.budget.sections[2]
    assert (line.status, line.used, line.dropped) == (SectionStatus.SKIPPED_BUDGET, 0, 1)


def test_a_question_without_terms_finds_nothing_and_says_why():
    assembly = Case(question="?!", excerpts=[excerpt(1, "credit")]).assemble()
    line = assembly.prompt.budget.sections[2]
    assert (line.status, line.note) == (SectionStatus.EMPTY, "the question has no term to search by")
    assert assembly.history is not None
    assert assembly.history.query_terms == ()


def test_scores_are_recorded_with_the_total_first():
    assembly = Case(question="credit", excerpts=[excerpt(1, "credit"), excerpt(2, "terms")]).assemble()
    (block,) = [block for block in assembly.blocks if block.section is SectionKind.HISTORY]
    assert list(block.scores) == ["total", "keyword", "neighbour", "session"]
    legs = np.array([block.scores[leg] for leg in list(block.scores)[1:]])
    assert block.scores["total"].tolist() == legs.sum(axis=0).tolist()


def test_an_archive_renders_only_what_is_asked_for():
    archive = prepare_archive([excerpt(n, f"text {n}") for n in range(1, 9)], WORDS.counter)
    assert len(archive) == 8
    archive.render(np.array([0, 1], np.intp))
    assert [piece.text for piece in archive.pieces] == ["- User: text 1\n", "- User: text 2\n"] + [""] * 6
