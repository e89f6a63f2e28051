"""Embeddings that can be relied on: checked, in time, and questions remembered."""

import asyncio
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assemblers.ranking import MalformedVectorError, VectorSpace, check_vector, fixed_point
from gateway.embedders.errors import EmbedderFailed, EmbedderLate, EmbeddingMismatch
from gateway.embedders.port import Embedder
from storage.lru import Lru

QUESTION_SECONDS: Final = 0.1
"""What a question's vector may take of a call; without it the search is by keywords."""
DOCUMENT_SECONDS: Final = 10.0
"""What an excerpt's may take: an embedder that hangs must not hang the indexer."""
REMEMBERED_QUESTIONS: Final = 4096


class Embeddings:
    """An embedder, for questions and excerpts. One instance serves a process."""

    def __init__(self, embedder: Embedder, question_seconds: float = QUESTION_SECONDS) -> None:
        self._embedder, self._question_seconds = embedder, question_seconds
        self._info = embedder.info
        # By digest and not by text: what users ask must not stay in memory for longer than their call.
        self._questions: Lru[bytes, NDArray[np.float32]] = Lru(REMEMBERED_QUESTIONS)

    @property
    def space(self) -> VectorSpace:
        """The space of all its vectors."""
        return self._info.space

    async def question(self, text: str, seconds: float) -> NDArray[np.float32]:
        """The vector of a question in fixed point, within `seconds` and its own share. Raises `EmbeddingError`."""
        key = blake2b(text.encode(), digest_size=16).digest()
        found = self._questions.get(key)
        if found is None:
            limit = min(seconds, self._question_seconds)
            found = fixed_point(await self._row(self._info.question_prefix + text, limit))
            self._questions.put(key, found)
        return found

    async def document(self, text: str) -> NDArray[np.float32]:
        """The vector of an excerpt's index text, as it is stored. Raises `EmbeddingError`."""
        return await self._row(self._info.document_prefix + text, DOCUMENT_SECONDS)

    async def _row(self, text: str, seconds: float) -> NDArray[np.float32]:
        try:
            async with asyncio.timeout(seconds):
                answer = await self._embedder.embed((text,))
        except TimeoutError:
            raise EmbedderLate from None
        except Exception:  # noqa: BLE001  an embedder is foreign code: whatever it raises, keywords still work
            raise EmbedderFailed from None
        if answer.space_id != self.space.id or answer.rows.shape != (1, self.space.dimension):
            raise EmbeddingMismatch
        vector: NDArray[np.float32] = answer.rows[0]
        try:
            check_vector(self.space, vector)
        except MalformedVectorError:
            raise EmbeddingMismatch from None
        return vector

    def close(self) -> None:
        """Let go of the embedder's threads."""
        self._embedder.close()
