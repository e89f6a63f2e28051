"""The wire's shared types: what is read and written again is the same message."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from assemblers.records import Certainty, Filter, Focus, RecentQuestion, SessionRef, Slots, Subject, UserRef
from gateway.convert import enums
from gateway.convert.canonical import canonical, parse
from gateway.convert.instants import instant_of, instant_to, optional_to
from gateway.convert.types import (
    session_of,
    session_to,
    slots_of,
    slots_to,
    subject_of,
    subject_to,
    turn_of,
    turn_to,
    user_of,
    user_to,
)
from gateway.errors import InvalidArgument, Reason
from muniment.v1 import fact_pb2, types_pb2

T = types_pb2
NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("table", "enum"),
    [
        (enums.ROLE_TO, T.Role),
        (enums.SECTION_TO, T.SectionKind),
        (enums.STATUS_TO, T.SectionStatus),
        (enums.CERTAINTY_TO, T.Certainty),
        (enums.KIND_TO, T.FactKind),
        (enums.ORIGIN_TO, T.FactOrigin),
        (enums.VALUE_TYPE_TO, T.ValueType),
    ],
)
def test_the_records_know_every_value_of_the_wires_enums(table: Any, enum: Any):
    assert sorted(table.values()) == sorted(number for number in enum.values() if number)


def test_of_a_facts_states_only_expiry_is_not_stored():
    known = set(enums.STATE_TO.values()) | {fact_pb2.FACT_STATE_EXPIRED}
    assert known == {number for number in fact_pb2.FactState.values() if number}


@given(st.integers(-62_135_510_400_000_000, 253_402_128_000_000_000))
def test_an_instant_keeps_its_microseconds(micros: int):
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    assert instant_of(instant_to(instant)) == instant


def test_an_instant_from_another_zone_is_the_same_instant_in_utc():
    elsewhere = NOW.astimezone(timezone(timedelta(hours=5, minutes=45)))
    assert instant_to(elsewhere) == instant_to(NOW)
    assert instant_of(Timestamp(seconds=1, nanos=1_999)).microsecond == 1
    assert instant_of(Timestamp()).tzinfo is UTC
    assert optional_to(None) is None


def test_users_and_sessions_read_back():
    user, session = UserRef("acme", "ann"), SessionRef("acme", "ann", "s1")
    assert user_of(user_to(user)) == user
    assert session_of(session_to(session)) == session


@pytest.mark.parametrize("subject", [Subject(), Subject("account", "a/1"), Subject("customer", "c-1")])
def test_a_subject_reads_back_and_the_user_is_unset(subject: Subject):
    message = subject_to(subject)
    assert subject_of(message or T.Subject()) == subject
    assert (message is None) == (subject.kind == "user")


def test_a_turn_reads_back_with_all_its_contents():
    message = T.Turn(
        turn_id="t1",
        role=T.ROLE_ASSISTANT,
        speaker="Ann",
        occur_time=instant_to(NOW),
        contents=[
            T.Content(text="<|endoftext|>\n👩‍👩‍👧"),
            T.Content(tool_call=T.ToolCall(call_id="c", tool_name="crm", arguments_json='{"a":1}')),
            T.Content(
                tool_result=T.ToolResult(call_id="c", tool_name="crm", is_error=True, result_json="null")
            ),
        ],
    )
    assert turn_to(turn_of(message, NOW + timedelta(days=1))) == message


def test_a_call_without_arguments_has_an_empty_object():
    message = T.Turn(turn_id="t", role=T.ROLE_ASSISTANT)
    message.contents.add().tool_call.call_id = "c"
    assert turn_to(turn_of(message, NOW)).contents[0].tool_call.arguments_json == "{}"


def test_a_turn_without_a_time_takes_the_given_one():
    assert turn_of(T.Turn(turn_id="t", role=T.ROLE_USER), NOW).occur_time == NOW


def test_ids_and_names_do_not_count_towards_a_turns_64_kib():
    call = T.ToolCall(call_id="c" * 128, tool_name="t" * 128, arguments_json='"' + "x" * 65_534 + '"')
    message = T.Turn(turn_id="t", role=T.ROLE_ASSISTANT, contents=[T.Content(tool_call=call)])
    assert len(turn_of(message, NOW).contents) == 1
    call.arguments_json += " "
    message.contents[0].tool_call.CopyFrom(call)
    with pytest.raises(InvalidArgument) as caught:
        turn_of(message, NOW, "turns[3]")
    assert caught.value.reason is Reason.TOO_LARGE
    assert caught.value.metadata["field"] == "turns[3]"


def test_slots_are_written_with_all_that_is_known_of_them():
    slots = Slots(
        Focus("customer", "c-1", "Contoso", Certainty.TENTATIVE, "tool/crm", "t1"),
        (Filter("region", "EMEA", Certainty.CONFIRMED, "caller", "t2"),),
        "short",
        (RecentQuestion("t1", "Who?"),),
    )
    message = slots_to(slots)
    assert (message.focus.certainty, message.focus.set_by) == (T.CERTAINTY_TENTATIVE, "tool/crm")
    assert (message.filters[0].turn_id, message.answer_format) == ("t2", "short")
    assert message.recent_questions[0] == T.RecentQuestion(turn_id="t1", text="Who?")


def test_what_is_output_only_is_ignored_in_slots_that_a_caller_sends():
    message = T.Slots(
        focus=T.Focus(type="customer", id="c", set_by="tool/crm", turn_id="t"),
        filters=[T.Filter(key="b", value="x", set_by="tool/crm"), T.Filter(key="a", value="y")],
        recent_questions=[T.RecentQuestion(turn_id="t", text="?")],
    )
    slots = slots_of(message)
    assert slots.focus == Focus("customer", "c", "", Certainty.CONFIRMED, "caller", "")
    assert [f.key for f in slots.filters] == ["a", "b"]
    assert {f.set_by for f in slots.filters} == {"caller"}
    assert slots.recent_questions == ()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abcé", max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_canonical_json_is_a_fixed_point_that_means_the_same(value: Any):
    text = canonical(value)
    assert parse("field", text) == value
    assert canonical(parse("field", text)) == text


def test_whole_numbers_stay_whole_numbers():
    assert canonical(parse("f", '{"b": 9007199254740991, "a": -0.0, "c": 1e2}')) == (
        '{"a":0,"b":9007199254740991,"c":100}'
    )


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", '{"a":1,"a":1}', '"\\ud800"', '"\\u0000"', "[" * 33 + "1" + "]" * 33]
)
def test_json_without_a_canonical_form_is_refused_at_its_field(text: str):
    with pytest.raises(InvalidArgument) as caught:
        parse("turns[0].x", text)
    assert caught.value.metadata == {"field": "turns[0].x"}
