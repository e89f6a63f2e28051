"""The demo's checks find what they are there to find."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.client.conversations import Answer, Conversation, LiveSession, Played
from gateway.client.conversations.records import Header
from gateway.demo.checks import checks, covers
from gateway.demo.story import Story
from muniment.v1 import context_pb2, prompt_pb2, trace_pb2, types_pb2

TEXT = "Question: why?"
HEADER = Header("", "acme", "dana", "UTC", "", None, None)


def spans(*lengths: int) -> list[types_pb2.Span]:
    made, offset = [], 0
    for length in lengths:
        made.append(types_pb2.Span(offset=offset, length=length, item_id="question"))
        offset += length
    return made


def prompt() -> prompt_pb2.Prompt:
    part = prompt_pb2.Part(
        section=types_pb2.SECTION_KIND_QUESTION,
        content=types_pb2.Content(text=TEXT),
        spans=spans(10, 4),
        token_count=4,
    )
    report = prompt_pb2.BudgetReport(limit=100, used=9, factor_permille=1000)
    report.sections.add(section=types_pb2.SECTION_KIND_QUESTION, used=4, ceiling=100)
    messages = [prompt_pb2.Message(role=types_pb2.ROLE_USER, parts=[part])]
    return prompt_pb2.Prompt(messages=messages, budget_report=report, prompt_sha256="aa")


def story(made: prompt_pb2.Prompt | None = None) -> Story:
    response = context_pb2.AssembleContextResponse(prompt=made or prompt(), trace="tenants/acme/traces/1")
    conversation = Conversation(
        "x", datetime(2026, 11, 29, tzinfo=UTC), HEADER, (), (), (), LiveSession("today", ())
    )
    played = Played(answers=(Answer(types_pb2.Turn(), response, 0.01),))
    replay = trace_pb2.ReplayTraceResponse(identical=True, replayed_sha256="aa")
    return Story(conversation, played, trace_pb2.Trace(), None, (), replay, (4,))


def broken(told: Story) -> list[str]:
    return [check.promise for check in checks(told, recorded=False) if not check.kept]


def test_a_good_story_keeps_every_promise():
    assert broken(story()) == []


def test_a_gap_an_overlap_and_a_missing_end_are_no_cover():
    good = spans(10, 4)
    assert covers(good, 14)
    assert not covers(good, 15)
    assert not covers(good[1:], 14)
    assert not covers([*good, good[1]], 14)
    assert not covers([types_pb2.Span(offset=0, length=14)], 14)


def test_bytes_without_an_item_break_the_promise():
    made = prompt()
    made.messages[0].parts[0].spans.pop()
    assert broken(story(made)) == ["every byte belongs to exactly one item"]


@pytest.mark.parametrize(("field", "value"), [("used", 101), ("used", 0)])
def test_a_prompt_over_its_budget_breaks_the_promise(field: str, value: int):
    made = prompt()
    setattr(made.budget_report, field, value)
    assert "no prompt passed its budget, no section its ceiling" in broken(story(made))


def test_a_total_below_its_parts_breaks_the_promise():
    made = prompt()
    made.budget_report.used = 3
    assert broken(story(made)) == ["counted once more, each part has the same tokens"]


def test_another_count_breaks_the_promise():
    assert broken(replace(story(), recounted=(5,))) == ["counted once more, each part has the same tokens"]


def test_a_replay_of_another_prompt_breaks_the_promise():
    other = trace_pb2.ReplayTraceResponse(identical=True, replayed_sha256="bb")
    assert broken(replace(story(), replay=other)) == ["the replay is identical"]


def test_a_prefix_without_a_breakpoint_breaks_the_promise():
    made = prompt()
    made.prefix_sha256 = "cc"
    assert broken(story(made)) == ["a shared prefix ends in a cache breakpoint"]


def test_an_item_that_is_not_in_the_prompt_breaks_the_promise():
    why = trace_pb2.ExplainItemResponse(text="- plan: team\n", steps=[trace_pb2.DescentStep()])
    assert broken(replace(story(), why=why)) == ["the explained item stands in the prompt, with its descent"]


def test_an_absence_without_a_remedy_breaks_the_promise():
    explanation = trace_pb2.AbsenceExplanation(finding=trace_pb2.AbsenceExplanation.FINDING_EXCLUDED)
    answer = trace_pb2.ExplainAbsenceResponse(explanations=[explanation])
    assert broken(replace(story(), why_not=(answer,))) == ["each absence has its reason and a remedy"]


def test_the_promises_of_the_recorded_conversation_are_not_asked_of_another():
    assert len(checks(story(), recorded=False)) < 10


def test_the_recorded_conversation_lies_where_the_demo_looks_for_it():
    from gateway.demo.main import RECORDED

    assert Path(RECORDED).is_file()
