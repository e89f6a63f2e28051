"""Vocabularies by id: loaded once, shared, refused by name when they are not carried."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway.tokenizers import TOKENIZER_IDS, TokenizerRegistry, UnknownTokenizerError


def test_every_id_counts_and_bears_its_name(registry: TokenizerRegistry):
    for tokenizer_id in TOKENIZER_IDS:
        counter = registry.counter(tokenizer_id)
        assert counter.id == tokenizer_id
        assert 2 <= counter.count("Hello, world") <= 4


def test_vocabularies_differ_where_they_should(registry: TokenizerRegistry):
    counts = {
        tokenizer_id: registry.counter(tokenizer_id).count("नमस्ते दुनिया") for tokenizer_id in TOKENIZER_IDS
    }
    assert counts["cl100k_base"] > 2 * counts["o200k_base"]
    assert counts["o200k_harmony"] == counts["o200k_base"]


def test_an_unknown_id_is_refused_with_those_that_are_known(registry: TokenizerRegistry):
    with pytest.raises(
        UnknownTokenizerError, match="'gpt2' is not known; use one of o200k_base, "
    ) as refused:
        registry.counter("gpt2")
    assert refused.value.known == TOKENIZER_IDS


def test_threads_that_ask_at_once_get_the_same_counter():
    fresh = TokenizerRegistry()
    with ThreadPoolExecutor(8) as pool:
        counters = list(pool.map(lambda _: fresh.counter("cl100k_base"), range(16)))
    assert all(counter is counters[0] for counter in counters)


def test_warming_up_loads_and_forgetting_keeps_the_vocabulary():
    fresh = TokenizerRegistry()
    fresh.warm_up(["qwen3"])
    counter = fresh.counter("qwen3")
    before = counter.count("- line\n")
    fresh.forget_texts()
    assert fresh.counter("qwen3") is counter
    assert counter.count("- line\n") == before
