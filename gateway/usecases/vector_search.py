"""What a search by vectors needs of the embedder: a question's vector in time, or a word on why there is none."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assemblers.policy.model import HistorySection, Retrieval
from assemblers.ranking import VectorSpace
from assemblers.records import Degradation, Reason, SectionKind, SectionStatus, UserRef
from gateway.embedders import EmbedderLate, EmbeddingError, EmbeddingMismatch, Embeddings
from gateway.usecases.indexing import Indexer
from storage.ports import ArchiveSnapshot

EMBEDDING_SHARE: Final = 0.25
"""The share of the remaining time that a question's vector may take, within the embedder's own limit."""


class Asked(NamedTuple):
    """A question's vector in fixed point, or why the search goes without one; both None where none was wanted."""

    vector: NDArray[np.float32] | None = None
    degradation: Degradation | None = None


NOT_ASKED: Final = Asked()


class VectorSearch:
    """The embedder as the use cases see it. Without one every search is by keywords."""

    def __init__(self, embeddings: Embeddings | None = None, indexer: Indexer | None = None) -> None:
        self._embeddings, self._indexer = embeddings, indexer

    @property
    def space(self) -> VectorSpace | None:
        """The space of all vectors; None without an embedder."""
        return None if self._embeddings is None else self._embeddings.space

    async def ask(
        self, settings: HistorySection, snapshot: ArchiveSnapshot, text: str, seconds: float
    ) -> Asked:
        """The vector of a question about an archive, for which there are `seconds` left; none where there is nothing to
        compare it with. Never raises for an embedder."""
        if settings.retrieval is Retrieval.KEYWORD or not snapshot.excerpts:
            return NOT_ASKED
        if self._embeddings is None or snapshot.vectors is None or not snapshot.vectors.count:
            return self._not_there(settings)
        try:
            return Asked(await self._embeddings.question(text, seconds * EMBEDDING_SHARE))
        except EmbedderLate:
            return _without(Reason.LATE, "keyword_only: the embedder did not answer in time")
        except EmbeddingMismatch:
            what = "the embedder's answer is no vector of its space"
            return _without(Reason.UNAVAILABLE, f"embedding_mismatch: {what}; keywords alone")
        except EmbeddingError:
            return _without(Reason.UNAVAILABLE, "keyword_only: the embedder failed")

    def _not_there(self, settings: HistorySection) -> Asked:
        """Nothing to compare: a loss only for a policy that demands vectors."""
        if settings.retrieval is not Retrieval.HYBRID:
            return NOT_ASKED
        what = "the gateway has no embedder" if self._embeddings is None else "no excerpt has a vector yet"
        return _without(Reason.UNAVAILABLE, f"keyword_only: {what}")

    def notice(self, user: UserRef, snapshot: ArchiveSnapshot) -> None:
        """An archive is in use: what has no vector in it yet is embedded in the background."""
        if self._indexer is not None:
            self._indexer.notice(user, snapshot)

    async def archived(self, user: UserRef, excerpts: int) -> None:
        """So many excerpts of a user are new: embed them, and wait for it where they are few."""
        if self._indexer is not None and excerpts:
            await self._indexer.index(user, excerpts)


def _without(reason: Reason, detail: str) -> Asked:
    return Asked(None, Degradation(SectionKind.HISTORY, SectionStatus.TRUNCATED, reason, detail))
