"""Shortened text is whole characters, whole words where it can, and never longer than asked."""

import unicodedata

import pytest

from assemblers.text import shorten

FAMILY = "👩‍👩‍👧"


def test_text_within_the_limit_is_left_alone():
    assert shorten("thirty days net", 15) == "thirty days net"


def test_a_shortened_text_ends_between_words_with_an_ellipsis():
    assert shorten("payment within thirty days net", 24) == "payment within thirty…"
    assert shorten("payment within thirty days net", 22) == "payment within thirty…"


def test_one_long_word_is_cut_inside():
    assert shorten("a" * 50, 10) == "a" * 9 + "…"
    assert shorten("ab " + "c" * 50, 20) == "ab " + "c" * 16 + "…"


@pytest.mark.parametrize("limit", range(1, 9))
def test_no_cut_falls_inside_a_grapheme(limit):
    text = FAMILY + "é漢"
    short = shorten(text, limit)
    assert len(short) <= limit
    assert short.encode().decode() == short == unicodedata.normalize("NFC", short)
    assert short in {"…", FAMILY + "…", FAMILY + "é…", text}


def test_limits_at_the_low_end():
    assert [shorten("abc", limit) for limit in (-1, 0, 1, 2, 3)] == ["", "", "…", "a…", "abc"]


def test_a_decomposed_text_comes_out_composed():
    assert shorten("Cafe\u0301", 4) == "Café"


def test_flags_are_not_torn_apart():
    assert shorten("🇩🇪🇫🇷🇮🇹", 4) == "🇩🇪…"
