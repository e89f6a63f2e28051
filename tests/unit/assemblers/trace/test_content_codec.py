"""The content's bytes: everything comes back, and anything odd is refused."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.assembly import TurnInput
from assemblers.records import (
    Certainty,
    Degradation,
    Filter,
    Focus,
    Material,
    Reason,
    RecentQuestion,
    Role,
    SectionKind,
    SectionStatus,
    Slots,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)
from assemblers.trace.content_codec import decode_content, encode_content
from assemblers.trace.errors import MalformedTrace
from assemblers.trace.record import Asked, TraceContent

NOW = datetime(2026, 11, 29, 9, 30, 0, 1, tzinfo=UTC)
SLOTS = Slots(
    Focus("order", "A-17", "Order", Certainty.CONFIRMED, "get_order", "t5"),
    (Filter("region", "EU", Certainty.TENTATIVE, "user", "t6"),),
    "short",
    (RecentQuestion("t6", "Where?"),),
)


def content(**changes: object) -> TraceContent:
    question = Turn("t7", Role.USER, (Text("Which one? 🙂"),), NOW, "Ann")
    calls = Turn("t8", Role.ASSISTANT, (Text("Let me look"), ToolCall("c1", "get", '{"a":1}')), NOW)
    result = Turn(
        "t9", Role.TOOL, (ToolResult("c1", "get", is_error=True, result_json='{"b":"\\u2028"}'),), NOW
    )
    base = TraceContent(
        salt=bytes(range(16)), session_id="s1",
        turn=TurnInput(question, "Which one? 🙂", "t7", NOW, (calls, result)),
        asked=Asked("support", "openai", "gpt-4o", 0, None, (("k", "v"),), "ab" * 16),
        material=(Material(0, "line\nline", "Title", "handbook", NOW, "r7"),),
        slots_before=SLOTS, slots_after=replace(SLOTS, focus=None), query_terms=("one", "日本"),
        refs=(("prefix", "tool/get"), ("slot/focus",)), prompt_sha256="aa" * 32,
        section_sha256={SectionKind.QUESTION: "bb", SectionKind.FACTS: "cc"},
        notes={SectionKind.HISTORY: "no terms"},
        degradations=(Degradation(SectionKind.FACTS, SectionStatus.UNAVAILABLE, Reason.LATE, "slow"),),
        warnings=("FACTS: slow",), query_vector=bytes(range(256)),
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]  # the keywords are fields of TraceContent


def test_a_content_comes_back_as_it_was():
    assert decode_content(encode_content(content())) == content()


def test_slots_that_did_not_change_are_stored_once_and_come_back():
    same = content(slots_after=SLOTS)
    assert len(encode_content(same)) < len(encode_content(content()))
    assert decode_content(encode_content(same)) == same


def test_of_changed_slots_only_the_change_is_stored():
    asked = RecentQuestion("t7", "Which one?")
    after = replace(SLOTS, recent_questions=(*SLOTS.recent_questions, asked))
    data = encode_content(content(slots_after=after))
    assert b'"slots_after":[0,0,0,[0,["t7","Which one?"]]]' in data
    assert decode_content(data).slots_after == after


def test_a_question_of_several_texts_is_stored_once():
    turn = Turn("t7", Role.USER, (Text("One"), Text("two?")), NOW)
    data = encode_content(content(turn=TurnInput(turn, "One\ntwo?", "t7", NOW)))
    assert (data.count(b"One"), decode_content(data).turn.question) == (1, "One\ntwo?")


@pytest.mark.parametrize("place", [b"1", b"-1", b"false", b'"t6"'])
def test_a_remembered_question_that_was_not_there_is_refused(place: bytes):
    data = encode_content(content())
    assert data.count(b'"slots_after":[null,0,0,[0]]') == 1
    with pytest.raises(MalformedTrace):
        decode_content(
            data.replace(b'"slots_after":[null,0,0,[0]]', b'"slots_after":[null,0,0,[' + place + b"]]")
        )


@pytest.mark.parametrize(
    "empty", [b'"warnings":[]', b'"notes":{}', b'"refs":[]', b'"slots_before":[null,[],"",[]]']
)
def test_what_is_empty_is_left_out_and_refused_when_it_is_there(empty: bytes):
    turn = TurnInput(Turn("t", Role.USER, (Text("q"),), NOW), "q", "t", NOW)
    bare = TraceContent(bytes(16), "s", turn, Asked(), (), Slots(), Slots(), (), (), "p", {}, {}, (), ())
    with pytest.raises(MalformedTrace, match="not the canonical ones"):
        decode_content(encode_content(bare).replace(b',"turn"', b"," + empty + b',"turn"'))


def test_zero_and_unset_figures_differ():
    again = decode_content(encode_content(content())).asked
    assert (again.max_input_tokens, again.reserve_output_tokens) == (0, None)


def test_the_order_of_mappings_does_not_matter():
    turned = content(section_sha256={SectionKind.FACTS: "cc", SectionKind.QUESTION: "bb"})
    assert encode_content(turned) == encode_content(content())


def test_a_lone_surrogate_is_not_written():
    with pytest.raises(UnicodeEncodeError):
        encode_content(content(session_id="\ud800"))


def test_the_bytes_of_an_empty_content_do_not_drift():
    turn = TurnInput(Turn("t", Role.USER, (Text("q"),), NOW), "q", "t", NOW)
    bare = TraceContent(bytes(16), "s", turn, Asked(), (), Slots(), Slots(), (), (), "p", {}, {}, (), ())
    assert encode_content(bare) == (
        b'MTC\x01{"asked":["","","",null,null,[],""],"prompt_sha256":"p","salt":"00000000000000000000000000000000",'
        b'"session_id":"s","turn":[["t","USER","",1795944600000001,[["text","q"]]]]}'
    )


DATA = encode_content(content())


def test_every_truncation_is_refused():
    for end in range(len(DATA)):
        with pytest.raises(MalformedTrace):
            decode_content(DATA[:end])


@given(at=st.integers(0, len(DATA) - 1), value=st.integers(0, 255))
def test_a_changed_byte_is_refused_or_is_another_content(at: int, value: int):
    changed = bytearray(DATA)
    changed[at] = value
    try:
        again = decode_content(bytes(changed))
    except MalformedTrace:
        return
    assert encode_content(again) == bytes(changed)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"MTC\x01", b"MTC\x03", "format 3 is unknown"),
        (b"MTC", b"MTR", "does not begin like one"),
        (b'["call",', b'["cull",', "content.turn.4.0.4.1 is of an unknown kind"),
        (b'"session_id":"s1"', b'"session_id":123', "content.session_id is not a text"),
        (b'"CONFIRMED"', b'"CONFIRMAD"', "is not a known Certainty"),
        (b'"salt":"00', b'"salt":"0x', "content.salt is not 16 bytes in hex"),
        (b'"warnings":["FACTS: slow"]', b'"warnings":{"FACTS":"low"}', "content.warnings is not a list"),
        (b'"notes":{"HISTORY":"no terms"}', b'"notes":["no terms"]', "content.notes is not an object"),
        (b'"get",true', b'"get",1234', "is not true or false"),
        (b'"s1"', b'"s1" ', "not the canonical ones"),
        (b'"s1"', b"NaN", "is not JSON"),
        (b'"query_vector":"AAEC', b'"query_vector":"A EC', "content.query_vector is not base64"),
    ],
)
def test_what_is_wrong_is_named_without_its_content(old: bytes, new: bytes, message: str):
    assert DATA.count(old) >= 1
    with pytest.raises(MalformedTrace, match=message) as caught:
        decode_content(DATA.replace(old, new))
    assert "Which one" not in str(caught.value)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
instants = st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 30)).map(  # noqa: DTZ001
    lambda moment: moment.replace(tzinfo=UTC)
)
contents = st.one_of(
    st.builds(Text, texts),
    st.builds(ToolCall, texts, texts, texts),
    st.builds(ToolResult, texts, texts, st.booleans(), texts),
)
turns = st.builds(
    Turn, texts, st.sampled_from(Role), st.lists(contents, max_size=3).map(tuple), instants, texts
)
documents = st.builds(Material, st.integers(0, 9), texts, texts, texts, instants, texts)
slots = st.builds(
    Slots,
    st.none() | st.builds(Focus, texts, texts, texts, st.sampled_from(Certainty), texts, texts),
    st.lists(st.builds(Filter, texts, texts, st.sampled_from(Certainty), texts, texts), max_size=2).map(
        tuple
    ),
    texts,
    st.lists(st.builds(RecentQuestion, texts, texts), max_size=2).map(tuple),
)


@given(
    turn=st.builds(TurnInput, turns, texts, texts, instants, st.lists(turns, max_size=2).map(tuple)),
    before=slots, after=slots, refs=st.lists(st.lists(texts, max_size=2).map(tuple), max_size=2).map(tuple),
    material=st.lists(documents, max_size=2).map(tuple),
    salt=st.binary(min_size=16, max_size=16), limit=st.none() | st.integers(0, 2**31),
)  # fmt: skip
def test_any_content_comes_back(
    turn: TurnInput, before: Slots, after: Slots, refs: tuple[tuple[str, ...], ...],
    material: tuple[Material, ...], salt: bytes, limit: int | None,
):  # fmt: skip
    original = content(
        turn=turn, slots_before=before, slots_after=after, refs=refs, material=material, salt=salt,
        asked=Asked(max_input_tokens=limit),
    )  # fmt: skip
    assert decode_content(encode_content(original)) == original


def test_instants_keep_their_microseconds():
    late = NOW + timedelta(days=2_000_000, microseconds=1)
    original = content(material=(Material(0, "a", "b", "c", late),))
    assert decode_content(encode_content(original)).material[0].read_time == late
