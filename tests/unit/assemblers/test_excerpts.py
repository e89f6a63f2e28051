import time
import unicodedata
from datetime import date

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from assemblers.excerpts import MAX_EXCERPT_CHARACTERS, cut_excerpts, index_text

FAMILY = "👩‍👩‍👧‍👦"
CLUSTERS = st.sampled_from(
    ["a", "é", "e\u0301", FAMILY, "🇩🇪", "각", "ᄀ\u1161\u11a8", "ก็", "\r\n", ". ", "。", " ", "\n"]
)
TEXTS = st.one_of(st.text(), st.lists(CLUSTERS).map("".join))


def test_a_turn_within_the_limit_is_one_excerpt():
    text = "First. Second. " * (MAX_EXCERPT_CHARACTERS // 15)
    assert cut_excerpts(text) == [text]


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000"])
def test_a_blank_turn_gives_no_excerpt(text):
    assert cut_excerpts(text) == []


@pytest.mark.parametrize(
    ("text", "limit", "pieces"),
    [
        ("One two. Three four five.", 18, ["One two. ", "Three four five."]),
        ('He said "no." Then he left.', 20, ['He said "no." ', "Then he left."]),
        ("First line\nsecond line", 16, ["First line\n", "second line"]),
        ("六七八。九十一二", 6, ["六七八。", "九十一二"]),
        ("Version 3.14 is out now", 18, ["Version 3.14 is ", "out now"]),
        ("alpha beta gamma", 12, ["alpha beta ", "gamma"]),
        ("Hi. abcdefghijklmnop", 10, ["Hi. abcdef", "ghijklmnop"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        (f"abc{FAMILY}def", 5, ["abc", FAMILY, "def"]),
        ("🇩🇪🇫🇷🇪🇸", 3, ["🇩🇪", "🇫🇷", "🇪🇸"]),
    ],
)
def test_a_longer_turn_is_cut_at_a_sentence_else_a_word_else_a_grapheme(text, limit, pieces):
    assert cut_excerpts(text, limit) == pieces


@given(TEXTS, st.integers(1, 20))
def test_pieces_are_the_text_again_and_break_no_grapheme(text, limit):
    pieces = cut_excerpts(text, limit)
    assert "".join(pieces) == (text if text.strip() else "")
    whole = regex.findall(r"\X", text)
    if pieces:
        assert [cluster for piece in pieces for cluster in regex.findall(r"\X", piece)] == whole
    for piece in pieces:
        assert piece
        assert len(piece) <= limit or len(regex.findall(r"\X", piece)) == 1


@given(TEXTS, st.integers(1, 20))
def test_pieces_of_normalised_text_are_normalised_and_encodable(text, limit):
    pieces = cut_excerpts(unicodedata.normalize("NFC", text), limit)
    assert all(unicodedata.is_normalized("NFC", piece) for piece in pieces)
    assert "".join(pieces).encode() == b"".join(piece.encode() for piece in pieces)


@pytest.mark.parametrize(
    "text",
    [
        "\u0301\u0323" * 30_000,
        "🇩🇪" * 15_000,
        "." + '"' * 60_000,
        "a" + " " * 60_000,
        ".)" * 30_000,
        "ก" * 60_000,
    ],
    ids=["marks", "flags", "quotes", "spaces", "closing brackets", "thai"],
)
def test_hostile_text_is_cut_in_time_proportional_to_its_length(text):
    started = time.process_time()
    assert "".join(cut_excerpts(text)) == text
    assert time.process_time() - started < 5


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="limit must be at least 1 character"):
        cut_excerpts("text", 0)


def test_the_index_text_names_speaker_and_day_in_english():
    assert index_text("Caroline", date(2023, 5, 8), "I went.") == "Caroline (08 May 2023): I went."
