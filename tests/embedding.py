"""An embedder for tests: a direction for each word that it knows, and no model."""

from collections.abc import Sequence

import numpy as np

from assemblers.ranking import VectorSpace
from gateway.embedders import Embedded, EmbedderInfo

WORDS = ("bill", "cat", "rain", "trip")
"""One direction each. Synonyms point the same way, so that they are found without a word in common."""
SYNONYMS = {"invoice": "bill", "payment": "bill", "kitten": "cat", "weather": "rain", "journey": "trip"}


class WordEmbedder:
    """A text points where its known words do, and a little everywhere else. `failing` is raised instead, and `answer`
    is given instead, if set; texts that hold `poison` fail."""

    def __init__(self, space_id: str = "words@1", floor_permille: int = 300, unused: int = 0) -> None:
        self._unused = unused
        self.info = EmbedderInfo(VectorSpace(space_id, len(WORDS) + 1 + unused, floor_permille), ("en",))
        self.asked: list[str] = []
        self.failing: BaseException | None = None
        self.answer: Embedded | None = None
        self.poison = ""
        self.closed = False

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.asked += texts
        if self.failing is not None:
            raise self.failing
        if self.poison and any(self.poison in text for text in texts):
            raise RuntimeError(self.poison)
        if self.answer is not None:
            return self.answer
        rows = np.array([self._row(text) for text in texts], np.float64)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return Embedded(self.info.space.id, rows.astype(np.float32))

    def close(self) -> None:
        self.closed = True

    def _row(self, text: str) -> list[float]:
        words = [word.strip(".,?!:()") for word in text.lower().split()]
        known = [SYNONYMS.get(word, word) for word in words]
        return [*(float(known.count(word)) for word in WORDS), 0.1, *[0.0] * self._unused]
