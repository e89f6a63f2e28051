"""Why something is there: the line of descent of every kind of item, and what it was preferred to."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

import pytest

from assemblers.records import FactState, Outcome, Reason, SectionKind
from assemblers.sections.archive import date_line
from assemblers.trace.candidates import Location
from assemblers.trace.codec import decode_record
from assemblers.trace.content_codec import decode_content
from assemblers.trace.descent import StepKind
from assemblers.trace.errors import NotInPrompt
from assemblers.trace.explain import Explanation, Looked, explain_item
from assemblers.trace.replay import replay
from tests.replay.scene import DAY, FACTS, NOW, PREFIX, TOOL_LOOP, Scene, play, policy

POLICY = policy().name


def explain(
    item_id: str,
    scene: Scene | None = None,
    prompt: bool = True,
    days: int = 0,
    turn_times: Mapping[str, datetime] = MappingProxyType({}),
) -> Explanation:
    scene = scene or play()
    record, content = decode_record(scene.captured.record), decode_content(scene.captured.content)
    shown = replay(record, content, scene.surroundings).prompt if prompt else None
    given = scene.surroundings
    return explain_item(record, content, item_id, Looked(given, shown, NOW + days * DAY, turn_times))


def kinds(explanation: Explanation) -> list[StepKind]:
    return [step.kind for step in explanation.steps]


def _text(item_id: str) -> str:
    """What the item's span holds in the prompt that was assembled."""
    parts = [part for message in play().assembly.prompt.messages for part in message.parts]
    texts = [(span, part.text.encode()) for part in parts for span in part.spans if span.item_id == item_id]
    (found,) = (data[span.offset : span.offset + span.length].decode() for span, data in texts)
    return found


def test_a_fact_is_followed_from_its_source_to_its_bytes():
    found = explain("fact/2")
    assert found.text == _text("fact/2")
    assert found.text.startswith('- plan: "team"')
    assert found.locations == (Location(1, 0, 161, len(found.text)),)
    assert (found.candidate.section, found.candidate.reason) == (SectionKind.FACTS, Reason.WITHIN_BUDGET)
    assert kinds(found) == [
        StepKind.OBSERVED, StepKind.WRITTEN, StepKind.ADMITTED, StepKind.SUPERSEDED_OTHER, StepKind.SELECTED,
    ]  # fmt: skip
    observed, written, admitted, superseded, selected = found.steps
    assert (observed.time, observed.actor, observed.reference) == (NOW - 14 * DAY, "crm", "turn-2")
    assert observed.description == "read at crm in turn turn-2"
    assert (written.actor, written.description) == (
        "billing-agent", "written as fact/2 by billing-agent: tool, confidence 1, expires 2027-01-28 09:30 UTC",
    )  # fmt: skip
    assert admitted.description == "key plan is on the allowlist, to serve: to answer by the plan's terms"
    assert admitted.reference == "facts.allowlist"
    assert (superseded.reference, superseded.time) == ("fact/1", NOW - 14 * DAY)
    assert selected.time == NOW
    assert selected.description == (
        f"included in this prompt at bytes 161 to {161 + len(found.text)} of message 1, part 0: within budget"
    )


def test_a_fact_won_over_the_value_it_replaced_and_over_those_without_room():
    assert [other.item_id for other in explain("fact/2").won_over] == ["fact/1"]
    crowded = play(policy(facts=90))
    assert [other.item_id for other in explain("fact/2", crowded).won_over] == ["fact/1", "fact/5", "fact/6"]


def test_what_became_of_a_fact_after_the_prompt_comes_last():
    scene = play()
    facts = dict(scene.surroundings.facts)
    facts[2] = replace(facts[2], state=FactState.SUPERSEDED, superseded_by=10)
    facts[10] = replace(FACTS[3], no=10, write_time=NOW + DAY, source="form")
    later = replace(scene, surroundings=replace(scene.surroundings, facts=facts))
    found = explain("fact/2", later, days=90)
    assert kinds(found)[-3:] == [StepKind.SELECTED, StepKind.SUPERSEDED, StepKind.EXPIRED]
    assert found.steps[-2].description == "superseded by fact/10, read at form"
    assert StepKind.EXPIRED not in kinds(explain("fact/2", later, days=2))


def test_an_invalidated_and_a_deleted_fact_say_so():
    scene = play()
    facts = dict(scene.surroundings.facts)
    changes = {"invalidated_time": NOW + DAY, "invalidation_reason": "plan changed"}
    facts[2] = replace(facts[2], state=FactState.INVALIDATED, **changes)  # type: ignore[arg-type]  # fields of Fact
    facts[5] = replace(facts[5], state=FactState.DELETED)
    later = replace(scene, surroundings=replace(scene.surroundings, facts=facts))
    assert explain("fact/2", later, prompt=False).steps[-1].description == "invalidated: plan changed"
    assert explain("fact/5", later, prompt=False).steps[-1].kind is StepKind.DELETED


def test_a_fact_whose_content_is_gone_still_has_its_fate():
    scene = play()
    facts = {no: fact for no, fact in scene.surroundings.facts.items() if no != 2}
    found = explain(
        "fact/2", replace(scene, surroundings=replace(scene.surroundings, facts=facts)), prompt=False
    )
    assert found.candidate.outcome is Outcome.INCLUDED
    assert found.text == ""
    assert found.locations == (found.candidate.location,)
    assert kinds(found) == [StepKind.SELECTED]


def test_an_excerpt_is_followed_from_its_turn_and_has_rank_and_scores():
    found = explain("excerpt/5")
    assert found.text == "- Ann: Could the invoice name our Berlin office?\n"
    assert kinds(found) == [StepKind.OBSERVED, StepKind.ARCHIVED, StepKind.SELECTED]
    assert found.steps[0].description == "said in session talk-2, turn talk-2-1"
    assert found.steps[0].actor == "Ann"
    assert ", as number 4 of 8 that matched (keyword 0.939, neighbour 0.000, session 0.167, total 1.106)" in (
        found.steps[-1].description
    )


def test_an_excerpt_won_over_worse_ones_only():
    found = explain("excerpt/1", play(policy(excerpts=2)))
    assert [other.item_id for other in found.won_over] == [f"excerpt/{no}" for no in (3, 5, 6, 4, 7, 8)]
    assert {other.policy_field for other in found.won_over} == {"sections[2].history.max_excerpts"}


@pytest.mark.parametrize(
    ("item_id", "text", "kind", "actor", "reference"),
    [
        ("slot/focus", "- About: Order A-17 (order A-17)\n", StepKind.OBSERVED, "get_order", "t5"),
        ("slot/filter/region", "- Filter region: EU (assumed)\n", StepKind.OBSERVED, "user", "t6"),
        ("slot/format", "- Answer format: short\n", StepKind.OBSERVED, "", ""),
        ("slot/question/t6", '- Earlier question: "Where is my order?"\n', StepKind.OBSERVED, "user", "t6"),
        ("question", "Which invoice was wrong? 🙂", StepKind.OBSERVED, "user", "t7"),
        ("prefix", "You help customers.\n", StepKind.WRITTEN, "acme", PREFIX.name),
        ("tool/get_plan", '{"name":"get_plan"}', StepKind.WRITTEN, "acme", PREFIX.name),
        ("policy/question.label", "Question: ", StepKind.WRITTEN, POLICY, "question.label"),
        ("today", "Today is 2026-11-29 (UTC).\n", StepKind.WRITTEN, POLICY, "session.show_today"),
        ("archived-session/talk-1", date_line(NOW - 300 * DAY, NOW, UTC), StepKind.OBSERVED, "", "talk-1"),
        ("call/c1", 'get_plan{"user":"ann"}', StepKind.OBSERVED, "assistant", "t8"),
        ("result/c1", 'get_plan{"plan":"team"}', StepKind.OBSERVED, "tool", "t9"),
    ],
)  # fmt: skip
def test_every_kind_of_item_has_an_origin(
    item_id: str, text: str, kind: StepKind, actor: str, reference: str
):
    found = explain(item_id, play(turn=TOOL_LOOP))
    assert found.text == text
    assert (found.steps[0].kind, found.steps[0].actor, found.steps[0].reference) == (kind, actor, reference)
    assert found.steps[-1].kind is StepKind.SELECTED
    assert found.candidate.item_id == item_id
    assert found.candidate.is_in


@pytest.mark.parametrize(
    ("item_id", "turn_id"), [("slot/focus", "t5"), ("slot/filter/region", "t6"), ("slot/question/t6", "t6")]
)
def test_a_slot_is_dated_by_its_turn_where_that_is_known(item_id: str, turn_id: str):
    said = NOW - DAY
    assert explain(item_id).steps[0].time is None
    assert explain(item_id, turn_times={turn_id: said}).steps[0].time == said
    assert explain(item_id, turn_times={"another": said}).steps[0].time is None


def test_every_byte_of_every_part_can_be_explained():
    scene = play(turn=TOOL_LOOP)
    for message in scene.assembly.prompt.messages:
        for part in message.parts:
            for span in part.spans:
                found = explain(span.item_id, scene)
                assert found.candidate.section is part.section, span.item_id
                assert len(found.steps) >= 2, span.item_id


def test_material_is_read_at_its_source_and_handed_over():
    found = explain("material/0")
    assert kinds(found) == [StepKind.OBSERVED, StepKind.WRITTEN, StepKind.SELECTED]
    assert found.steps[0].description == "read at handbook, revision r7"


def test_a_tool_definition_lies_outside_of_the_messages():
    assert explain("tool/get_plan").locations == (Location(-1, 0, 0, 19),)


def test_figures_are_those_of_the_budget_report():
    found = explain("fact/2", play(policy(facts=300)))
    line = next(
        s for s in play(policy(facts=300)).assembly.prompt.budget.sections if s.section is SectionKind.FACTS
    )
    assert found.figures["section_ceiling"] == 300
    assert found.figures["section_used"] == line.used
    assert found.figures["limit"] == 6000


@pytest.mark.parametrize("item_id", ["fact/1", "fact/77", "excerpt/99", "slot/filter/period", "nonsense", ""])
def test_what_is_not_in_the_prompt_is_refused_by_name(item_id: str):
    with pytest.raises(NotInPrompt, match="ask why it is absent"):
        explain(item_id)
