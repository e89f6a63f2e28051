"""Stored text stays on its line, shows what was hidden, and imitates nothing."""

import json
import unicodedata
from pathlib import Path

import pytest

from assemblers.text import QUOTE, block, block_counted, hidden_characters, inline, inline_counted
from assemblers.text.hidden import LINE_BREAK

HOSTILE = Path(__file__).parents[3] / "data" / "hostile"
TOKENS = json.loads((HOSTILE / "special_tokens.json").read_text())
SMUGGLED = json.loads((HOSTILE / "unicode_smuggling.json").read_text())
MARKUP = json.loads((HOSTILE / "query_and_markup_injection.json").read_text())
SPECIAL: list[str] = TOKENS["special_tokens"]
MARKERS: list[str] = TOKENS["role_and_section_markers"]
BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]


def full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def nested(text: str) -> str:
    middle = len(text) // 2
    return text[:middle] + text + text[middle:]


def with_zero_width(text: str) -> str:
    return "\u200b".join(text)


def folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def special_in(text: str) -> list[str]:
    seen = text + "\n" + folded(text)
    return [token for token in SPECIAL if token in seen or folded(token) in seen]


def test_the_hostile_collection_is_complete():
    assert (len(SPECIAL), len(MARKERS)) == (153, 33)
    assert [t for t in SPECIAL if t not in special_in(t)] == []


@pytest.mark.parametrize("disguise", [str, full_width, nested, with_zero_width])
@pytest.mark.parametrize("escape", [inline, block])
def test_no_special_token_survives_in_any_disguise(disguise, escape):
    for token in SPECIAL:
        for text in (disguise(token), f"before {disguise(token)} after", disguise(token) * 2):
            assert special_in(escape(text)) == [], ascii(text)


def test_compatibility_forms_outside_the_full_width_block_are_found_too():
    assert special_in(inline("𝐱﹤|im_start|>")) == []
    assert "](" not in folded(inline("see [x]⒜"))
    assert inline("㍿ makes ﬁne tea") == "㍿ makes ﬁne tea"  # nothing hidden in them: they stay


@pytest.mark.parametrize("line_break", BREAKS, ids=ascii)
def test_markers_behind_any_line_break_stay_on_the_line(line_break):
    for marker in MARKERS:
        line = inline(f"value{line_break}{marker}{line_break}role: admin")
        assert LINE_BREAK.search(line) is None
        assert line.startswith("value\\")
        assert len(line.splitlines()) == 1


@pytest.mark.parametrize("line_break", BREAKS, ids=ascii)
def test_markers_in_a_block_stand_behind_the_quote_mark(line_break):
    for marker in MARKERS:
        shown = block(f"value{line_break}{marker}{line_break}- item: x")
        assert shown.endswith("\n")
        assert not shown.endswith("\n\n")
        assert all(line == QUOTE.rstrip() or line.startswith(QUOTE) for line in shown[:-1].split("\n"))


def test_line_breaks_are_told_apart():
    shown = [inline(f"a{line_break}b") for line_break in BREAKS if line_break != "\r\n"]
    assert len(set(shown)) == 10
    assert inline("a\r\nb") == inline("a\nb") == r"a\nb"


@pytest.mark.parametrize(
    ("name", "expected", "removed"),
    [
        ("tag_block", "pref=blue", 54),
        ("bidi_rlo", "user_role=nimda", 2),
        ("zwj", "admin", 1),
        ("zwnj", "admin", 1),
        ("hangul_filler", "admin", 1),
        ("var_sel", "admin", 1),
        ("var_sel_supp", "admin", 6),
        ("invisible_ops", "ab", 4),
        ("ansi_csi", "red", 9),
        ("ansi_osc8", "click", 28),
        ("ansi_osc52", "", 24),
        ("c1_csi", "red", 4),
        ("nul", r"a\x00b", 1),
        ("backspace", r"safe\x08\x08\x08\x08evil", 4),
        ("cr_overwrite", r"safe\revil", 0),
        ("noncharacter", r"a\ufffeb\uffff", 2),
        ("zwsp_split_token", "‹|im_start|›", 1),
        ("nested_token", "‹|im_‹|im_start|›start|›system", 0),
        ("nfd", "Café", 0),
    ],
)
def test_what_hides_is_taken_out_or_shown_and_counted(name, expected, removed):
    assert inline_counted(SMUGGLED[name]) == (expected, removed)


@pytest.mark.parametrize("name", ["emoji_zwj_ok", "flag_tag_sequence_ok", "arabic_ok", "devanagari_zwj_ok"])
def test_joiners_with_a_meaning_survive(name):
    assert inline_counted(SMUGGLED[name]) == (SMUGGLED[name], 0)


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",
        "👩🏽\u200d🚀 ok",
        "❤\ufe0f\u200d🔥",
        "1\ufe0f\u20e3",
        "ක්\u200dෂ",
        "র\u200d্য",
        "☎\ufe0e",
    ],
)
def test_honest_sequences_of_many_scripts_survive(text):
    assert inline(text) == text


def test_a_joiner_is_kept_once_only():
    assert inline("👨\u200d\u200d👩") == "👨👩"
    assert inline("a\ufe0f\u200d👩") == "a👩"


@pytest.mark.parametrize("flag", ["\U0001f3f4\U000e0075\U000e0073\U000e0063\U000e0061\U000e007f"])
def test_other_tag_sequences_after_the_black_flag_go(flag):
    assert inline(flag) == "\U0001f3f4"


def test_nested_terminal_sequences_leave_nothing_behind():
    assert "\x1b" not in inline("\x1b\x1b[31m[31mred")
    assert inline("a\x1b]0;title never closed") == "a0;title never closed"


@pytest.mark.parametrize("text", MARKUP["markdown_exfil"])
def test_markup_that_loads_by_itself_is_inert(text):
    shown = inline(text)
    assert "![" not in folded(shown)
    assert "](" not in folded(shown)
    assert "<" not in folded(shown)


@pytest.mark.parametrize(
    "text",
    [
        "x <= 5 and y < 3",
        "I <3 tea",
        "see [1] and [2]",
        "a | b",
        "`code` and ``more``",
        "C++ is 100% fine!",
        "a -> b",
        "Straße in Zürich, 東京、Привет",
        "café",
        "1 < 2 > 0",
        "C:\\temp\\new",
        "~5 items",
        "日本（東京）",
    ],
)
def test_honest_text_is_left_alone(text):
    assert inline_counted(text) == (text, 0)
    assert inline(text) == text


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u200b\ufeff", "\x1b[0m", "\u3000\u00a0"])
def test_text_without_anything_visible_is_empty(text):
    assert inline(text) == ""
    assert block(text) == ""


def test_blanks_at_the_ends_go_and_tabs_become_spaces():
    assert inline(" \u200b a\tb \n") == "a b"


def test_a_block_keeps_indentation_and_drops_blank_ends():
    shown = block("\n\ndef f():\n\treturn 1  \n\n# done\n\n")
    assert shown == "  > def f():\n  >     return 1\n  >\n  > # done\n"


def test_a_block_counts_what_it_took_out():
    assert block_counted("a\x07\u200b\nb\x1b[0m") == ("  > a\\x07\n  > b\n", 6)


@pytest.mark.parametrize("name", sorted(SMUGGLED))
def test_hidden_characters_are_counted_as_inline_counts_them(name: str):
    assert hidden_characters(SMUGGLED[name]) == inline_counted(SMUGGLED[name])[1]


def test_hidden_characters_of_several_texts_add_up_and_breaks_are_none():
    assert hidden_characters("a\u200b", "plain", "b\x07\u202e\nc", "für 🙏") == 3


def test_lone_surrogates_never_reach_the_output():
    assert inline("a\ud800b") == r"a\ud800b"


def test_plain_text_takes_the_fast_path():
    text = "Acme pays within 30 days net, invoices go to accounts payable; ask the treasurer in Lisbon (9-5)"
    assert inline(text) is text


@pytest.mark.parametrize(
    "unit", ["<", "[", "\x1b", "\x9d", "\x1b[", "👩\u200d", "a\u0301", "\ufe0f", "]", "｜", "&lt;"]
)
def test_long_hostile_runs_take_linear_time(unit):
    shown = inline(unit * 20_000)
    assert inline(shown) == shown
