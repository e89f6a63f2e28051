"""Cursors: positions come back, and anything else is one typed error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.cursors import decode_name, decode_number, encode_position
from storage.errors import InvalidCursor


@given(st.integers(-(10**16), 10**16))
def test_a_number_comes_back(number: int) -> None:
    assert decode_number(encode_position(number), 0) == number


@given(st.text(st.characters(codec="utf-8")))
def test_a_name_comes_back(name: str) -> None:
    assert decode_name(encode_position(name)) == name


def test_an_empty_cursor_is_the_beginning() -> None:
    assert decode_number("", 7) == 7
    assert decode_name("") == ""


@given(st.text(min_size=1))
def test_anything_else_is_a_number_or_an_invalid_cursor(cursor: str) -> None:
    try:
        number = decode_number(cursor, 0)
    except InvalidCursor:
        return
    assert abs(number) < 10**18


@pytest.mark.parametrize(
    "cursor", [encode_position("7"), "bjEtMg", "bg", "bi0", "bi0tMQ", "YQ==", "b\n", "\ud800"]
)
def test_forged_numbers_are_refused(cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        decode_number(cursor, 0)


@pytest.mark.parametrize("cursor", [encode_position(7), "c_8", "!", "%00"])
def test_forged_names_are_refused(cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        decode_name(cursor)
