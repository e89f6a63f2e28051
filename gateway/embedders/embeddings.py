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
EMBEDDER_SECONDS: Final = 10.0
"""What any vector may take: an embedder that hangs must not hang the indexer, nor hold a place for ever."""
MAX_UNDER_WAY: Final = 16
"""Questions at the same time. More could not be embedded in time, so that is said at once; also where an embedder
hangs, which then costs nobody more than a moment."""
REMEMBERED_QUESTIONS: Final = 4096


class Embeddings:
    """An embedder, for questions and excerpts. One instance serves a process."""

    def __init__(self, embedder: Embedder, question_seconds: float = QUESTION_SECONDS) -> None:
        self._embedder, self._question_seconds = embedder, question_seconds
        self._info = embedder.info
        # By digest and not by text: what users ask must not stay in memory for longer than their call.
        self._questions: Lru[bytes, NDArray[np.float32]] = Lru(REMEMBERED_QUESTIONS)
        self._under_way: dict[bytes, asyncio.Task[NDArray[np.float32]]] = {}

    @property
    def space(self) -> VectorSpace:
        """The space of all its vectors."""
        return self._info.space

    async def question(self, text: str, seconds: float) -> NDArray[np.float32]:
        """The vector of a question in fixed point, within `seconds` and its own share. Raises `EmbeddingError`.

        One that comes too late is remembered all the same: the next call of a tool loop asks the same question.
        """
        key = blake2b(text.encode(), digest_size=16).digest()
        found = self._questions.get(key)
        if found is not None:
            return found
        task = self._under_way.get(key) or self._begin(key, text)
        try:
            async with asyncio.timeout(min(seconds, self._question_seconds)):
                # A caller that gives up must not take the vector away from the others.
                return await asyncio.shield(task)
        except TimeoutError:
            raise EmbedderLate from None

    async def document(self, text: str) -> NDArray[np.float32]:
        """The vector of an excerpt's index text, as it is stored. Raises `EmbeddingError`."""
        return await self._row(self._info.document_prefix + text, EMBEDDER_SECONDS)

    def _begin(self, key: bytes, text: str) -> asyncio.Task[NDArray[np.float32]]:
        if len(self._under_way) >= MAX_UNDER_WAY:
            raise EmbedderLate
        task = asyncio.create_task(self._remembered(key, text))
        self._under_way[key] = task
        task.add_done_callback(lambda done: self._ended(key, done))
        return task

    async def _remembered(self, key: bytes, text: str) -> NDArray[np.float32]:
        found = fixed_point(await self._row(self._info.question_prefix + text, EMBEDDER_SECONDS))
        self._questions.put(key, found)
        return found

    def _ended(self, key: bytes, task: asyncio.Task[NDArray[np.float32]]) -> None:
        self._under_way.pop(key, None)
        if not task.cancelled():
            task.exception()  # seen, should all callers have given up

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
        """Give up what is under way and let go of the embedder's threads."""
        for task in self._under_way.values():
            task.cancel()
        self._embedder.close()
