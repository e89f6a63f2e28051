"""The vocabularies of this build, by id: each is loaded once, when it is first asked for."""

import threading
from collections.abc import Iterable

from assemblers.tokens import TokenCounter
from gateway.tokenizers.errors import TokenizerFailedError, UnknownTokenizerError
from gateway.tokenizers.memo import MemoCounter
from gateway.tokenizers.splintr_counter import Encoder, SplintrCounter

DEFAULT_TOKENIZER = "o200k_base"

_PRETRAINED = {
    "o200k_base": "o200k_base",
    "o200k_harmony": "o200k_harmony",
    "cl100k_base": "cl100k_base",
    "llama3": "llama3",
    "qwen3": "qwen3",
    "deepseek_v3": "deepseek_v3",
    "glm4": "glm4",
    "kimi_k2": "kimi_k2",
    "tekken": "mistral_v3",
}
"""Our ids to splintr's names. An id is part of stored keys and of traces: it never changes its meaning."""

TOKENIZER_IDS = tuple(_PRETRAINED)


class TokenizerRegistry:
    """Hands out one shared, memoising counter per id; safe to use from several threads."""

    def __init__(self) -> None:
        self._counters: dict[str, MemoCounter] = {}
        self._lock = threading.Lock()

    def counter(self, tokenizer_id: str = DEFAULT_TOKENIZER) -> TokenCounter:
        """The counter of an id; the first call loads the vocabulary (20 to 80 ms, once per process).

        Raises `UnknownTokenizerError`, or `TokenizerFailedError` when the vocabulary does not load.
        """
        found = self._counters.get(tokenizer_id)
        return found if found is not None else self._load(tokenizer_id)

    def warm_up(self, tokenizer_ids: Iterable[str] = (DEFAULT_TOKENIZER,)) -> None:
        """Load vocabularies before the first request needs them, deferred tables included."""
        for tokenizer_id in tokenizer_ids:
            self.counter(tokenizer_id).count("Warm up. 1 ü 中 😀 <|\n")

    def forget_texts(self) -> None:
        """Drop every text that a counter remembers, as after an erasure."""
        for counter in list(self._counters.values()):
            counter.forget()

    def _load(self, tokenizer_id: str) -> MemoCounter:
        if tokenizer_id not in _PRETRAINED:
            raise UnknownTokenizerError(tokenizer_id, TOKENIZER_IDS)
        with self._lock:
            if tokenizer_id not in self._counters:
                encoder = _pretrained(tokenizer_id)
                self._counters[tokenizer_id] = MemoCounter(SplintrCounter(tokenizer_id, encoder))
            return self._counters[tokenizer_id]


def _pretrained(tokenizer_id: str) -> Encoder:
    # Late, since the library's module maps 60 MB of vocabularies that the CLI has no use for.
    from splintr import Tokenizer

    try:
        return Tokenizer.from_pretrained(_PRETRAINED[tokenizer_id])
    except ValueError as error:
        raise TokenizerFailedError(tokenizer_id) from error
