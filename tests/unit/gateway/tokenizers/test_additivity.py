"""The counts of rendered lines add up exactly in every vocabulary that is shipped: the budget rests on it."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.tokenizers import TOKENIZER_IDS, TokenizerRegistry

# fmt: off
TAILS = (
    "word", "Wort,", "x.", "1", "12", "1234", "?!", "...", "—", "😀", "👨\u200d👩\u200d👧", "中文", "語。",
    "한",
    "e\u0301", "\u200d", "\u200b", "'s", "'", "\"", "(", ")", "-", "--", "*", "/", "//", "<", "|>",
    "<|endoftext|>", "#", "##", "`", "```", "{", "}", "]", "[INST]", "_", "=", "<s>", "ß", "я", "ไทย",
    "हिन्दी", "\x00", "\x1b", "\ufeff", "$", "%", "@", "&", "~", "^", "+", ":", ";", "\ue000", "IX",
    "McD", " ", "  ", "\t", "- ", "\r", "a\rb", "\u2028", "\xa0", "\x85",
)
# fmt: on
AHEAD = (
    "",
    "a",
    "A",
    " x",
    "  x",
    "-",
    "1",
    "/",
    "\n",
    "'s",
    "|",
    "<",
    "中",
    "😀",
    "word: value\n",
    "##",
    " [1]",
)
SAFE_FIRST = (
    string.ascii_letters
    + string.digits
    + string.punctuation.replace("/", "")
    + "é中ひ한яعह😀—“…\u0301\u200b①"
)

fragments = st.one_of(st.sampled_from([*TAILS, *AHEAD]), st.text(max_size=6))
texts = st.lists(fragments, max_size=10).map("".join)
bodies = texts.map(lambda text: text.replace("\n", ""))
lines = bodies.map(lambda body: f"- {body}\n")
headings = st.tuples(st.sampled_from([*string.ascii_letters, "<", "[", "#"]), bodies).map(
    lambda p: f"{p[0]}{p[1]}\n"
)

each_vocabulary = pytest.mark.parametrize("tokenizer_id", TOKENIZER_IDS)


def assert_adds_up(registry: TokenizerRegistry, tokenizer_id: str, parts: list[str]) -> None:
    counter = registry.counter(tokenizer_id)
    assert counter.count("".join(parts)) == sum(counter.count(part) for part in parts)


@each_vocabulary
@settings(max_examples=70, deadline=None)
@given(st.lists(lines, max_size=8), texts)
def test_lines_and_the_question_behind_its_label_add_up(
    registry: TokenizerRegistry, tokenizer_id: str, rendered: list[str], question: str
):
    assert_adds_up(registry, tokenizer_id, [*rendered, f"Question: {question}"])


@each_vocabulary
@settings(max_examples=45, deadline=None)
@given(st.lists(st.one_of(lines, headings), max_size=8))
def test_lines_and_headings_add_up_in_any_order(
    registry: TokenizerRegistry, tokenizer_id: str, rendered: list[str]
):
    assert_adds_up(registry, tokenizer_id, rendered)


@each_vocabulary
@settings(max_examples=45, deadline=None)
@given(bodies, bodies)
def test_a_boundary_before_a_single_space_between_visible_characters_adds_up(
    registry: TokenizerRegistry, tokenizer_id: str, left: str, right: str
):
    pieces = [f"- key{left.rstrip()},", f" read 14 days ago{right}\n"]
    assert_adds_up(registry, tokenizer_id, pieces)


@each_vocabulary
def test_every_visible_first_character_but_the_slash_is_safe_after_a_line_break(
    registry: TokenizerRegistry, tokenizer_id: str
):
    counter = registry.counter(tokenizer_id)
    befores = {before: counter.count(before) for before in (f"- key: {tail}\n" for tail in TAILS)}
    for first in SAFE_FIRST:
        after = f"{first}a\n"
        alone = counter.count(after)
        off = [before for before, count in befores.items() if counter.count(before + after) != count + alone]
        assert not off, first


@pytest.mark.parametrize("tokenizer_id", ["o200k_base", "o200k_harmony", "tekken"])
def test_a_slash_after_a_line_break_is_not_safe(registry: TokenizerRegistry, tokenizer_id: str):
    # These pre-tokenizers take slashes together with the line break before them: no rendered line begins so.
    counter = registry.counter(tokenizer_id)
    befores = [f"- {tail}\n" for tail in TAILS]
    assert any(
        counter.count(before + "/") != counter.count(before) + counter.count("/") for before in befores
    )


def test_raw_text_after_a_line_is_not_safe(registry: TokenizerRegistry):
    counter = registry.counter("o200k_base")
    assert counter.count("- key: value\n" + "\n") != counter.count("- key: value\n") + counter.count("\n")
