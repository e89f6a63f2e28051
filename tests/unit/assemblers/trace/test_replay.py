"""Replay: the same bytes from the trace and what it names, and a typed answer where something is gone."""

from collections.abc import Mapping
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.assembly import PromptFormat
from assemblers.records import Degradation, Fact, FactState, Reason, SectionKind, SectionStatus
from assemblers.trace.candidates import candidates, with_refs
from assemblers.trace.codec import decode_record
from assemblers.trace.content_codec import decode_content
from assemblers.trace.errors import ContentErased, MalformedTrace, UnknownRenderer, WrongSurroundings
from assemblers.trace.replay import compare, replay, replay_inputs
from tests.replay.scene import DAY, FACTS, NOW, SPACE, TOOL_LOOP, VECTORS, Scene, play, policy


def same(scene: Scene, facts: Mapping[int, Fact] | None = None) -> bool:
    record, content = decode_record(scene.captured.record), decode_content(scene.captured.content)
    given_now = scene.surroundings if facts is None else replace(scene.surroundings, facts=facts)
    return compare(record, content, replay(record, content, given_now)).identical


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(play, id="plain"),
        pytest.param(lambda: play(turn=TOOL_LOOP, formats=tuple(PromptFormat)), id="tool loop, all formats"),
        pytest.param(lambda: play(limit=900), id="little budget"),
        pytest.param(lambda: play(policy(facts=90, history=150, material=0)), id="ceilings"),
        pytest.param(lambda: play(policy(excerpts=2), kept=3), id="few excerpts"),
        pytest.param(lambda: play(question="the of and"), id="nothing to search by"),
        pytest.param(lambda: play(facts=None), id="facts unavailable"),
        pytest.param(lambda: play(facts=()), id="no facts"),
        pytest.param(lambda: play(vectors=VECTORS), id="vectors"),
        pytest.param(lambda: play(vectors={3: VECTORS[3]}, kept=4), id="few vectors"),
        pytest.param(lambda: play(vectors=VECTORS, question="the of and"), id="vectors alone"),
    ],
)
def test_a_trace_replays_to_the_same_bytes(scene):
    played = scene()
    record, content = decode_record(played.captured.record), decode_content(played.captured.content)
    again = replay(record, content, played.surroundings)
    assert compare(record, content, again).identical
    assert again.prompt == played.assembly.prompt
    assert again.degradations == played.assembly.degradations
    assert again.history == played.assembly.history
    recorded = list(candidates(with_refs(record, content)))
    assert list(candidates(again.blocks)) == recorded == list(candidates(played.assembly.blocks))


def test_a_replay_of_vectors_needs_none():
    played = play(vectors=VECTORS)
    record, content = decode_record(played.captured.record), decode_content(played.captured.content)
    again = replay(record, content, replace(played.surroundings, vectors=None))
    assert compare(record, content, again).identical
    assert again.history is not None
    assert (again.history.embedder, again.history.floor_permille, again.history.embedded) == ("toy@1", 300, 8)
    assert len(again.history.query_vector) == 2 * SPACE.dimension


@given(limit=st.integers(700, 2500), ceiling=st.integers(0, 400), kept=st.integers(1, 9))
def test_any_budget_replays(limit: int, ceiling: int, kept: int):
    assert same(play(policy(facts=ceiling, history=ceiling), limit=limit, kept=kept))


def test_facts_regain_the_state_that_they_had():
    """Since the trace, one was superseded, one invalidated, one is current again for another reason."""
    scene = play()
    now = {fact.no: fact for fact in FACTS}
    now[2] = replace(now[2], state=FactState.SUPERSEDED, superseded_by=10)
    now[5] = replace(now[5], state=FactState.INVALIDATED, invalidated_time=NOW + DAY)
    now[10] = replace(now[2], no=10, value="enterprise", state=FactState.CURRENT, write_time=NOW + DAY)
    assert same(scene, now)


def test_a_deleted_fact_that_was_in_the_prompt_is_named():
    scene = play()
    tombstone = replace(FACTS[3], value="", state=FactState.DELETED)
    for facts in ({f.no: f for f in FACTS if f.no != 2}, {f.no: f for f in FACTS} | {2: tombstone}):
        with pytest.raises(ContentErased, match="fact/2 was erased"):
            same(scene, facts)


@pytest.mark.parametrize("no", [1, 3, 4, 8, 9])
def test_a_deleted_fact_that_was_refused_does_not_hinder_replay(no: int):
    facts = {fact.no: fact for fact in FACTS}
    assert same(play(), {number: fact for number, fact in facts.items() if number != no})
    assert same(play(), facts | {no: replace(facts[no], value="", state=FactState.DELETED)})


def test_a_deleted_fact_that_only_lacked_room_hinders_replay():
    """Its length may have decided what else fitted."""
    scene = play(policy(facts=90))
    facts = {fact.no: fact for fact in FACTS if fact.no != 6}
    with pytest.raises(ContentErased, match="fact/6"):
        same(scene, facts)


def test_a_deleted_excerpt_is_named():
    scene = play()
    fewer = {no: e for no, e in scene.surroundings.excerpts.items() if no != 5}
    record, content = decode_record(scene.captured.record), decode_content(scene.captured.content)
    with pytest.raises(ContentErased, match="excerpt/5"):
        replay(record, content, replace(scene.surroundings, excerpts=fewer))


def test_an_unknown_renderer_is_refused():
    scene = play()
    record = decode_record(scene.captured.record)
    newer = replace(record, versions=replace(record.versions, renderer=99))
    with pytest.raises(UnknownRenderer, match="renderer 99 is not in this release"):
        replay(newer, decode_content(scene.captured.content), scene.surroundings)


class OtherCounter:
    id = "words"

    def count(self, text: str) -> int:
        return len(text.split())


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("policy", {"policy": replace(policy(), digest="ee" * 32)}),
        ("prefix", {"prefix": None}),
        ("tokenizer", {"counter": OtherCounter()}),
        ("zone", {"zone": ZoneInfo("Europe/Berlin")}),
    ],
)
def test_other_surroundings_than_the_record_names_are_refused(field: str, change: dict[str, object]):
    scene = play()
    other = replace(scene.surroundings, **change)  # type: ignore[arg-type]  # the keys are fields of Surroundings
    with pytest.raises(WrongSurroundings) as caught:
        replay_inputs(decode_record(scene.captured.record), decode_content(scene.captured.content), other)
    assert caught.value.field == field


def test_a_difference_names_the_first_section_and_item():
    scene = play()
    record, content = decode_record(scene.captured.record), decode_content(scene.captured.content)
    facts = dict(scene.surroundings.facts)
    facts[5] = replace(facts[5], value=13000)
    found = compare(record, content, replay(record, content, replace(scene.surroundings, facts=facts)))
    assert not found.identical
    assert (found.section, found.item_id) == (SectionKind.FACTS, "fact/5")
    assert found.recorded_sha256 == content.prompt_sha256


def test_an_item_that_appears_in_replay_only_is_a_difference():
    scene = play()
    record, content = decode_record(scene.captured.record), decode_content(scene.captured.content)
    longer = replace(content, material=(*content.material, replace(content.material[0], index=1)))
    found = compare(record, longer, replay(record, longer, scene.surroundings))
    assert found.section is SectionKind.MATERIAL
    assert found.item_id == "material/1"


def test_degradations_come_back_once():
    late = Degradation(SectionKind.FACTS, SectionStatus.UNAVAILABLE, Reason.LATE, "slow")
    scene = play(facts=None, degradations=(late,))
    record, content = decode_record(scene.captured.record), decode_content(scene.captured.content)
    assert replay(record, content, scene.surroundings).degradations == scene.assembly.degradations


def test_refs_that_do_not_fit_the_record_are_malformed():
    scene = play()
    record, content = decode_record(scene.captured.record), decode_content(scene.captured.content)
    for refs in (content.refs[1:], (*content.refs, ("x",)), (("x",) * 9, *content.refs[1:])):
        with pytest.raises(MalformedTrace, match="refs are not those of the record"):
            with_refs(record, replace(content, refs=refs))
