"""Column forms: what goes in comes out, to the microsecond and the byte."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.records import FactValue, Text, ToolCall, ToolResult, ValueType
from storage.sql.columns import (
    contents_from_json,
    contents_to_json,
    from_micros,
    to_json,
    to_micros,
    value_from_content,
    value_to_content,
)

texts = st.text(st.characters(codec="utf-8"))
instants = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30))]))


@given(instants)
def test_an_instant_comes_back_in_utc(instant: datetime) -> None:
    back = from_micros(to_micros(instant))
    assert back == instant
    assert back.tzinfo is UTC


@given(instants, instants)
def test_instants_keep_their_order(one: datetime, other: datetime) -> None:
    assert (to_micros(one) < to_micros(other)) == (one < other)


def test_a_naive_instant_is_refused() -> None:
    with pytest.raises(TypeError):
        to_micros(datetime(2026, 11, 15))  # noqa: DTZ001 - that is the point


values = st.one_of(
    st.tuples(st.sampled_from([ValueType.TEXT, ValueType.STATEMENT]), texts),
    st.tuples(st.just(ValueType.INTEGER), st.integers()),
    st.tuples(st.just(ValueType.NUMBER), st.floats(allow_nan=False)),
    st.tuples(st.just(ValueType.FLAG), st.booleans()),
    st.tuples(st.just(ValueType.INSTANT), instants),
)


@given(texts)
def test_a_turn_s_text_is_written_as_canonical_json(text: str) -> None:
    assert contents_to_json((Text(text), Text(text))) == to_json([["text", text], ["text", text]])


@given(values)
def test_a_value_comes_back_with_its_type(typed: tuple[ValueType, FactValue]) -> None:
    kind, value = typed
    back = value_from_content(kind, value_to_content(value))
    assert back == value
    assert type(back) is type(value)


def test_an_erased_value_reads_as_nothing() -> None:
    assert value_from_content(ValueType.INSTANT, None) == ""


contents = st.one_of(
    texts.map(Text),
    st.builds(ToolCall, texts, texts, texts),
    st.builds(ToolResult, texts, texts, st.booleans(), texts),
)


@given(st.lists(contents, max_size=4).map(tuple))
def test_contents_come_back(given_contents: tuple[Text | ToolCall | ToolResult, ...]) -> None:
    assert contents_from_json(contents_to_json(given_contents)) == given_contents
