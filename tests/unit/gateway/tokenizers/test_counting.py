"""Counting is bounded, ordinary, and never brings the process down."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from splintr import AnyTokenizer, Tokenizer

from gateway.tokenizers import (
    TOKENIZER_IDS,
    TextNotEncodableError,
    TextTooLargeError,
    TokenizerFailedError,
    TokenizerRegistry,
)
from gateway.tokenizers.cuts import pieces
from gateway.tokenizers.splintr_counter import FLUSH_CHARACTERS, MAX_CHARACTERS, SplintrCounter

PanicException = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})

each_vocabulary = pytest.mark.parametrize("tokenizer_id", TOKENIZER_IDS)


@cache
def pretrained(name: str) -> AnyTokenizer:
    return Tokenizer.from_pretrained(name)


class FakeEncoder:
    """Four bytes for each character, or the given failure."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.failure = failure
        self.cleared = 0

    def encode_flat(self, text: str) -> bytes:
        if self.failure is not None:
            raise self.failure
        return bytes(4 * len(text))

    def encode_ordinary(self, text: str) -> list[int]:
        return [0] * (2 * len(text))

    def special_tokens(self) -> dict[str, int]:
        return {"<|end|>": 1, "[INST]": 2}

    def clear_cache(self) -> None:
        self.cleared += 1


@each_vocabulary
def test_a_special_token_literal_is_plain_text(registry: TokenizerRegistry, tokenizer_id: str):
    counter = registry.counter(tokenizer_id)
    assert counter.count("<|endoftext|>") > 1
    assert counter.count("") == 0
    for literal in ("<|im_start|>", "[INST]", "</s>", "<｜User｜>", "<|eot_id|>", "[gMASK]", "/nothink"):
        assert counter.count(f"a {literal} b") > 3, literal


@each_vocabulary
@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_the_fast_way_counts_like_the_ordinary_encoding(
    registry: TokenizerRegistry, tokenizer_id: str, text: str
):
    name = "mistral_v3" if tokenizer_id == "tekken" else tokenizer_id
    assert registry.counter(tokenizer_id).count(text) == len(pretrained(name).encode_ordinary(text))


@pytest.mark.parametrize("run", [" ", "a", "😀", "\n", "👨‍👩‍👧‍👦"])
def test_a_million_characters_in_one_run_are_refused_at_once(registry: TokenizerRegistry, run: str):
    text = run * (1_000_000 // len(run))
    with pytest.raises(TextTooLargeError, match="shorten or split it") as refused:
        registry.counter().count(text)
    assert refused.value.limit == 256 * 1024


def test_the_longest_run_that_is_counted_takes_bounded_time(registry: TokenizerRegistry):
    started = time.perf_counter()
    assert registry.counter().count("😀" * (256 * 1024)) > 0
    assert time.perf_counter() - started < 5


def test_a_text_over_the_cap_is_refused_with_both_figures(registry: TokenizerRegistry):
    with pytest.raises(TextTooLargeError, match=f"{MAX_CHARACTERS + 1} characters, at most {MAX_CHARACTERS}"):
        registry.counter().count("word " * (MAX_CHARACTERS // 5) + "ab")


def test_a_long_text_of_words_is_counted_exactly(registry: TokenizerRegistry):
    sentence = "Der Käufer fragt, 3 times: <where> is order 4711?\n"
    counter = registry.counter()
    assert counter.count(sentence * 10_000) == 10_000 * counter.count(sentence)


@each_vocabulary
@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(["word", " ", "\n", "- ", "é", "中", "<", "/", "'s", "12", "😀", "  "]), max_size=60
    )
)
def test_the_pieces_of_a_long_text_add_up(registry: TokenizerRegistry, tokenizer_id: str, parts: list[str]):
    text = "".join(parts)
    counter = registry.counter(tokenizer_id)
    cut = list(pieces(text, size=5, max_run=10_000))
    assert "".join(cut) == text
    assert sum(counter.count(piece) for piece in cut) == counter.count(text)


def test_cuts_are_made_as_soon_as_the_size_is_reached():
    assert list(pieces("one two three\nfour", size=4)) == ["one two", " three\n", "four"]


def test_a_lone_surrogate_is_refused_with_its_place(registry: TokenizerRegistry):
    with pytest.raises(TextNotEncodableError, match="lone surrogate at character 2"):
        registry.counter().count("ab\ud800")


def test_a_rust_panic_becomes_a_typed_error():
    counter = SplintrCounter("fake", FakeEncoder(PanicException("stack overflow")))
    with pytest.raises(TokenizerFailedError, match="tokenizer fake: the library failed"):
        counter.count("text")


def test_an_ordinary_failure_of_the_library_becomes_a_typed_error():
    counter = SplintrCounter("fake", FakeEncoder(RuntimeError("secret text")))
    with pytest.raises(TokenizerFailedError) as failed:
        counter.count("text")
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interruption_passes(interruption: type[BaseException]):
    counter = SplintrCounter("fake", FakeEncoder(interruption()))
    with pytest.raises(interruption):
        counter.count("text")


def test_texts_with_a_literals_first_character_take_the_ordinary_way():
    counter = SplintrCounter("fake", FakeEncoder())
    assert counter.count("abc") == 3
    assert counter.count("a<c") == 6
    assert counter.count("a[c") == 6


def test_the_librarys_cache_is_emptied_now_and_then():
    encoder = FakeEncoder()
    counter = SplintrCounter("fake", encoder)
    text = "x" * 32_000
    for _ in range(2 * FLUSH_CHARACTERS // len(text) + 2):
        counter.count(text)
    assert encoder.cleared == 2


def test_counts_from_several_threads_agree(registry: TokenizerRegistry):
    texts = [f"- fact.{number}: Wert {number} 😀\n" * (1 + number % 7) for number in range(400)]
    expected = [registry.counter().count(text) for text in texts]
    fresh = TokenizerRegistry()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: fresh.counter().count(text), texts)) == expected
