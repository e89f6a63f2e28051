"""Why something is absent: one test for each reason, with the figures that would have let it in."""

from dataclasses import replace
from datetime import UTC, timedelta

import pytest

from assemblers.records import Degradation, Fact, FactState, Reason, SectionKind, SectionStatus, Subject
from assemblers.sections.archive import date_line
from assemblers.trace.absence import (
    Missed,
    MissedExcerpt,
    MissedFact,
    MissedKey,
    MissedText,
    Trace,
    explain_absence,
)
from assemblers.trace.candidates import Candidate, candidates
from assemblers.trace.codec import decode_record
from assemblers.trace.content_codec import decode_content
from assemblers.trace.findings import Absence, Finding
from tests.replay.scene import DAY, FACTS, NOW, Scene, fact, play, policy


def trace_of(scene: Scene, **surroundings: object) -> Trace:
    given = replace(scene.surroundings, **surroundings)  # type: ignore[arg-type]  # fields of Surroundings
    return Trace(decode_record(scene.captured.record), decode_content(scene.captured.content), given)


def why_not(missed: Missed, scene: Scene | None = None, **surroundings: object) -> Absence:
    found = explain_absence(trace_of(scene or play(), **surroundings), missed)
    assert found
    return found[0]


def with_facts(*more: Fact) -> dict[int, Fact]:
    return {f.no: f for f in (*FACTS, *more)}


SUPERSEDED = (
    "fact/2, read at crm on 2026-11-15, had taken its place (this one was read on 2026-05-13):"
    " record a newer reading."
)
EXPIRED = (
    "It expired on 2026-11-26, 3 days before this prompt, context facts being kept for 7 days from their reading:"
    " read it again at crm, or lengthen the time to live."
)


@pytest.mark.parametrize(
    ("no", "reason", "field", "remedy", "figures"),
    [
        (
            1, Reason.SUPERSEDED, "",
            SUPERSEDED,
            {"superseded_by": "fact/2", "read_time": "2026-11-15T09:30Z"},
        ),
        (
            3, Reason.EXPIRED, "facts.ttl",
            EXPIRED,
            {"expire_time": "2026-11-26T09:30Z", "days_expired": "3"},
        ),
        (
            4, Reason.KEY_NOT_ALLOWED, "facts.allowlist",
            "The policy's allowlist has hobby, plan, seats, tone, trip, and not legacy: add the key with its purpose.",
            {},
        ),
        (
            8, Reason.INVALIDATED, "",
            "It was invalidated on 2026-11-28 (agent at fault): record it anew from its source.",
            {"invalidated_time": "2026-11-28T09:30Z"},
        ),
        (
            9, Reason.LOW_CONFIDENCE, "sections[1].facts.min_confidence_permille",
            "Its confidence is 0.4, and 0.7 is asked for: confirm it, or ask for less.",
            {"confidence": "0.4", "threshold": "0.7"},
        ),
    ],
)  # fmt: skip
def test_a_refused_fact(no: int, reason: Reason, field: str, remedy: str, figures: dict[str, str]):
    found = why_not(MissedFact(no))
    assert (found.finding, found.item_id) == (Finding.EXCLUDED, f"fact/{no}")
    assert (found.reason, found.policy_field) == (reason, field)
    assert (found.remedy, found.figures) == (remedy, figures)
    assert found.candidate is not None
    assert found.text == str(next(f.value for f in FACTS if f.no == no))


def test_a_fact_over_the_ceiling_says_which_ceiling_would_have_let_it_in():
    found = why_not(MissedFact(5), play(policy(facts=90)))
    assert (found.reason, found.policy_field) == (Reason.OVER_CEILING, "sections[1].budget.ceiling_tokens")
    assert found.figures == {
        "ceiling": "90", "used_tokens": "82", "needed_tokens": "79", "missing_tokens": "71",
    }  # fmt: skip
    assert "a ceiling of 161, 71 more, would have let it in" in found.remedy
    assert why_not(MissedFact(5), play(policy(facts=160))).finding is Finding.EXCLUDED
    assert why_not(MissedFact(5), play(policy(facts=161))).finding is Finding.PRESENT


def test_an_excerpt_over_the_ceiling_counts_the_date_line_of_a_session_that_is_not_shown():
    scene = play(policy(history=120))
    shown = why_not(MissedExcerpt(3), play(policy(history=130)))
    assert shown.figures["needed_tokens"] == "20"
    alone = why_not(MissedExcerpt(5), scene)
    assert alone.figures["needed_tokens"] == str(49 + len(date_line(NOW - 120 * DAY, NOW, UTC)))
    assert alone.figures["ceiling"] == "120"


def test_an_item_over_the_budget_says_how_many_tokens_were_missing():
    scene = play(limit=900)
    found = why_not(MissedExcerpt(8), scene)
    assert found.reason is Reason.OVER_BUDGET
    assert found.policy_field == "budget.max_input_tokens"
    used, needed = int(found.figures["used_tokens"]), int(found.figures["needed_tokens"])
    assert used == scene.assembly.prompt.budget.used
    assert int(found.figures["missing_tokens"]) == used + needed - 900


def test_more_items_than_the_policy_allows():
    found = why_not(MissedExcerpt(5), play(policy(excerpts=2)))
    assert found.policy_field == "sections[2].history.max_excerpts"
    assert found.remedy == "The section already had as many items as max_excerpts allows: raise it."


def test_an_excerpt_below_the_cutoff_is_scored_again_in_the_archive_of_then():
    everything = play()
    scene = play(kept=2)
    found = why_not(MissedExcerpt(5), scene)
    assert (found.finding, found.reason) == (Finding.NOT_CONSIDERED, Reason.BELOW_CUTOFF)
    assert found.candidate is None
    ranked = [c.item_id for c in _ranked(everything)]
    legs = next(c.scores for c in _ranked(everything) if c.item_id == "excerpt/5")
    assert found.figures["rank"] == str(ranked.index("excerpt/5") + 1) == "4"
    assert found.figures["score"] == f"{legs['total'] / 1e6:.6f}"
    assert found.figures["keyword"] == f"{legs['keyword'] / 1e6:.6f}"
    assert found.figures["cutoff"] == f"{_ranked(everything)[2].scores['total'] / 1e6:.6f}"
    assert found.figures["matched"] == "8"
    assert "place 4 of 8" in found.remedy


def _ranked(scene: Scene) -> list[Candidate]:
    return [c for c in candidates(scene.assembly.blocks) if c.section is SectionKind.HISTORY]


def test_what_was_archived_since_does_not_change_the_score_of_then():
    """A trace whose archive ended at 6: the three later excerpts must not weigh into the ranks."""
    then = play(kept=1, end_no=6)
    found = why_not(MissedExcerpt(5), then)
    everything = play(end_no=6)
    legs = next(c.scores for c in _ranked(everything) if c.item_id == "excerpt/5")
    assert found.figures["score"] == f"{legs['total'] / 1e6:.6f}"
    assert found.figures["score"] != why_not(MissedExcerpt(5), play(kept=1)).figures["score"]


def test_an_excerpt_archived_after_the_trace():
    found = why_not(MissedExcerpt(7), play(end_no=6))
    assert found.finding is Finding.RECORDED_LATER
    assert found.figures == {"number": "7", "archive_end_number": "6"}


def test_an_excerpt_that_shares_nothing_with_the_question():
    found = why_not(MissedExcerpt(8), play(question="pineapple refund"))
    assert found.reason is Reason.BELOW_THRESHOLD
    assert found.policy_field == "sections[2].history.min_score_micros"
    assert found.remedy == (
        "Nothing that the question was searched by (pineappl, refund) occurs in it or near it:"
        " ask with one of its words (know, good, pizza, place)."
    )


def test_a_question_without_a_term():
    found = why_not(MissedExcerpt(1), play(question="the of and"))
    assert (found.finding, found.reason) == (Finding.NOT_CONSIDERED, Reason.EMPTY_QUERY)


def test_what_is_in_the_prompt_after_all():
    for missed in (MissedFact(2), MissedExcerpt(1)):
        found = why_not(missed)
        assert found.finding is Finding.PRESENT
        assert "ask why it is there instead" in found.remedy
        assert found.candidate is not None
        assert found.candidate.is_in


def test_what_was_never_recorded():
    assert why_not(MissedFact(77)).remedy == "fact/77 was never recorded: record it."
    assert why_not(MissedExcerpt(77)).finding is Finding.NOT_ON_RECORD


def test_of_a_keys_values_the_present_one_comes_first_and_later_ones_last():
    later = fact(12, "plan", "enterprise", write_time=NOW + DAY, read_time=NOW + DAY)
    found = explain_absence(trace_of(play(), facts=with_facts(later)), MissedKey("plan"))
    assert [(each.item_id, each.finding) for each in found] == [
        ("fact/2", Finding.PRESENT), ("fact/1", Finding.EXCLUDED), ("fact/12", Finding.RECORDED_LATER),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("late", "said"),
    [
        (timedelta(seconds=1), "less than a day before this prompt"),
        (timedelta(days=1), "1 day before this prompt"),
        (timedelta(days=2), "2 days before this prompt"),
    ],
)
def test_how_long_a_fact_had_expired(late: timedelta, said: str):
    expired = replace(FACTS[6], expire_time=NOW - late)
    assert said in why_not(MissedFact(expired.no), facts=with_facts(expired)).remedy


def test_a_fact_written_after_the_trace():
    later = fact(12, "tone", "formal", write_time=NOW + DAY)
    found = why_not(MissedFact(12), facts=with_facts(later))
    assert (found.finding, found.reason) == (Finding.RECORDED_LATER, None)
    assert found.figures["write_time"] == "2026-11-30T09:30:00Z"


def test_a_deleted_fact_keeps_its_fate_and_shows_no_text():
    gone = replace(FACTS[4], value="", state=FactState.DELETED)
    found = why_not(MissedFact(5), play(policy(facts=90)), facts=with_facts(gone))
    assert (found.reason, found.text) == (Reason.OVER_CEILING, "")


@pytest.mark.parametrize(
    ("state", "reason", "remedy"),
    [
        (FactState.DELETED, Reason.ERASED, "It was deleted for good: record it anew if it still holds."),
        (FactState.INVALIDATED, Reason.INVALIDATED, "It was invalidated (wrong): record it anew from its source."),
        (
            FactState.SUPERSEDED, Reason.SUPERSEDED,
            "A newer value of plan had taken its place (fact/2): correct that one.",
        ),
    ],
)  # fmt: skip
def test_an_old_fact_that_was_no_candidate(state: FactState, reason: Reason, remedy: str):
    old = fact(
        11,
        "plan",
        "free",
        state=state,
        superseded_by=2,
        invalidation_reason="wrong",
        write_time=NOW - 300 * DAY,
    )
    found = why_not(MissedFact(11), facts=with_facts(old))
    assert (found.finding, found.reason, found.remedy) == (Finding.NOT_CONSIDERED, reason, remedy)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"state": FactState.SUPERSEDED, "superseded_by": 13},
        {"state": FactState.INVALIDATED, "invalidated_time": NOW + DAY},
    ],
)
def test_a_fact_that_was_current_and_was_not_gathered_is_not_said_to_be_retired(changes: dict[str, object]):
    """It was written in the moment between gathering and the instant of the prompt, and changed later."""
    overlooked = fact(12, "tone", "formal", write_time=NOW, **changes)
    newer = fact(13, "tone", "terse", write_time=NOW + DAY)
    found = why_not(MissedFact(12), facts=with_facts(overlooked, newer))
    assert (found.finding, found.reason) == (Finding.NOT_CONSIDERED, None)
    assert found.remedy == "It was on record, and not in what was gathered for this prompt: ask again."


def test_a_section_that_the_policy_does_not_have():
    revision = policy()
    bare = replace(
        revision,
        policy=replace(
            revision.policy,
            sections=tuple(
                s for s in revision.policy.sections if s.kind not in (SectionKind.FACTS, SectionKind.HISTORY)
            ),
        ),
    )
    scene = play(bare, facts=None)
    for missed, kind in ((MissedFact(2), "FACTS"), (MissedExcerpt(1), "HISTORY")):
        found = why_not(missed, scene)
        assert (found.finding, found.policy_field) == (Finding.NOT_CONSIDERED, "sections")
        assert found.remedy == f"The policy support has no {kind} section: add one."


def test_a_section_that_was_late():
    late = Degradation(SectionKind.FACTS, SectionStatus.UNAVAILABLE, Reason.LATE, "the store did not answer")
    found = why_not(MissedFact(2), play(facts=None, degradations=(late,)))
    assert (found.finding, found.reason) == (Finding.NOT_CONSIDERED, Reason.LATE)
    assert "the store did not answer" in found.remedy


def test_a_key_finds_its_facts_the_newest_reading_first():
    found = explain_absence(trace_of(play()), MissedKey("plan"))
    assert [(a.item_id, a.finding) for a in found] == [
        ("fact/2", Finding.PRESENT),
        ("fact/1", Finding.EXCLUDED),
    ]


def test_a_key_without_a_fact_says_whether_the_policy_would_admit_one():
    assert why_not(MissedKey("trip", Subject("account", "A"))).policy_field == ""
    found = why_not(MissedKey("salary"))
    assert (found.finding, found.policy_field) == (Finding.NOT_ON_RECORD, "facts.allowlist")
    assert "add the key to the allowlist" in found.remedy


def test_words_find_facts_excerpts_and_material_what_was_left_out_first():
    found = explain_absence(trace_of(play(policy(excerpts=1))), MissedText("the INVOICES"))
    assert [a.item_id for a in found] == ["excerpt/5", "excerpt/6", "excerpt/1"]
    assert [a.finding for a in found] == [Finding.EXCLUDED, Finding.EXCLUDED, Finding.PRESENT]
    assert why_not(MissedText("starter")).item_id == "fact/1"
    assert why_not(MissedText("refunds five days")).item_id == "material/0"


def test_all_words_must_occur():
    found = why_not(MissedText("invoice pineapple"))
    assert (found.finding, found.item_id) == (Finding.NOT_ON_RECORD, "")


def test_words_that_are_too_common_are_refused_with_the_remedy():
    assert "too common" in why_not(MissedText("the of")).remedy


def test_material_that_had_no_room():
    found = why_not(MissedText("refunds five days"), play(policy(material=20)))
    assert (found.finding, found.reason) == (Finding.EXCLUDED, Reason.OVER_CEILING)
    assert found.figures["needed_tokens"] == "104"


def test_material_of_a_policy_without_its_section():
    revision = policy()
    kept = tuple(s for s in revision.policy.sections if s.kind is not SectionKind.MATERIAL)
    scene = play(replace(revision, policy=replace(revision.policy, sections=kept)))
    found = why_not(MissedText("refunds five days"), scene)
    assert found.remedy == "The policy support has no MATERIAL section: add one."


def test_an_excerpt_of_the_session_at_hand_names_the_field():
    found = why_not(MissedExcerpt(8), play(current="talk-3"))
    assert (found.reason, found.policy_field) == (
        Reason.DUPLICATE,
        "sections[2].history.skip_current_session",
    )
    assert found.remedy == "It is of the session at hand, which the policy leaves out: allow it there."


def test_at_most_twenty_explanations():
    many = [fact(20 + i, f"k{i}", "unobtainium") for i in range(30)]
    assert len(explain_absence(trace_of(play(), facts=with_facts(*many)), MissedText("unobtainium"))) == 20
