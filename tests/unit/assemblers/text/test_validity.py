"""What is refused at the door says why, and quotes nothing."""

import pytest

from assemblers.text import find_invalid, is_id


@pytest.mark.parametrize("text", ["", "plain", "naïve 👩‍👩‍👧", "\n\t", "\\u0000"])
def test_ordinary_text_is_valid(text):
    assert find_invalid(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ab\x00c", "contains the NUL character (U+0000) at character 2"),
        ("é\x00", "contains the NUL character (U+0000) at character 1"),
        ("\ud800", "contains a lone surrogate at character 0"),
        ("👩\udfff", "contains a lone surrogate at character 1"),
    ],
)
def test_nul_and_lone_surrogates_are_named_with_their_place(text, reason):
    assert find_invalid(text) == reason


@pytest.mark.parametrize("text", ["a", "A-1_b.c:d@e|f+g=h/i", "x" * 128])
def test_ids_have_one_alphabet(text):
    assert is_id(text)


@pytest.mark.parametrize("text", ["", "x" * 129, "a b", "é", "a\n", "*", "%"])
def test_what_is_no_id(text):
    assert not is_id(text)
