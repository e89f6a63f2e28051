import asyncio

import numpy as np
import pytest

from assemblers.policy.model import HistorySection, Retrieval
from assemblers.ranking import IndexUnit, build_archive, build_vectors
from assemblers.records import Excerpt, Reason, Role, SectionKind, SectionStatus, UserRef
from gateway.embedders import Embedded, Embeddings
from gateway.usecases.vector_search import NOT_ASKED, VectorSearch
from storage.conformance.samples import NOW
from storage.ports import ArchiveSnapshot
from tests.embedding import WordEmbedder

DEFAULT, KEYWORD = HistorySection(), HistorySection(retrieval=Retrieval.KEYWORD)
HYBRID = HistorySection(retrieval=Retrieval.HYBRID)


def archive(size: int, embedded: int = 0, *, vectors: bool = True) -> ArchiveSnapshot:
    """An archive of so many excerpts, of which the first few have a vector."""
    excerpts = tuple(
        Excerpt(no, 1, no, "s", NOW, f"t{no}", Role.USER, "", "a cat", NOW, {}) for no in range(size)
    )
    made = build_archive([IndexUnit(e.no, 0, e.position, {}) for e in excerpts])
    known = {no: np.eye(5, dtype=np.float32)[1] for no in range(embedded)}
    aligned = build_vectors(WordEmbedder().info.space, made.numbers, known) if vectors else None
    return ArchiveSnapshot(1, excerpts, made, aligned)


FULL = archive(2, 2)


def search(embedder: WordEmbedder) -> VectorSearch:
    return VectorSearch(Embeddings(embedder))


@pytest.mark.parametrize("settings", [DEFAULT, HYBRID])
async def test_a_question_is_embedded_where_there_is_an_embedder(settings):
    asked = await search(WordEmbedder()).ask(settings, FULL, "the cat", 1.0)
    assert asked.degradation is None
    assert asked.vector is not None
    assert np.argmax(asked.vector) == 1


@pytest.mark.parametrize(
    ("settings", "snapshot"),
    [(KEYWORD, FULL), (DEFAULT, archive(0)), (HYBRID, archive(0)), (DEFAULT, archive(1))],
    ids=["keywords", "empty", "empty, demanded", "no vector yet"],
)
async def test_no_question_is_embedded_to_be_compared_with_nothing(settings, snapshot):
    embedder = WordEmbedder()
    assert await search(embedder).ask(settings, snapshot, "the cat", 1.0) == NOT_ASKED
    assert embedder.asked == []


@pytest.mark.parametrize("settings", [DEFAULT, KEYWORD])
async def test_without_an_embedder_keywords_are_no_loss(settings):
    assert await VectorSearch().ask(settings, archive(1, vectors=False), "the cat", 1.0) == NOT_ASKED
    assert VectorSearch().space is None


@pytest.mark.parametrize(
    ("vectors", "snapshot", "what"),
    [
        (VectorSearch(), archive(1, vectors=False), "the gateway has no embedder"),
        (search(WordEmbedder()), archive(1), "no excerpt has a vector yet"),
    ],
)
async def test_a_policy_that_demands_vectors_is_told_that_there_are_none(vectors, snapshot, what):
    vector, degradation = await vectors.ask(HYBRID, snapshot, "the cat", 1.0)
    assert vector is None
    assert degradation is not None
    assert degradation.reason is Reason.UNAVAILABLE
    assert degradation.detail == f"keyword_only: {what}"


@pytest.mark.parametrize(
    ("failing", "answer", "reason", "code"),
    [
        (TimeoutError(), None, Reason.LATE, "keyword_only"),
        (RuntimeError("secret"), None, Reason.UNAVAILABLE, "keyword_only"),
        (
            None,
            Embedded("other@1", np.eye(5, dtype=np.float32)[:1]),
            Reason.UNAVAILABLE,
            "embedding_mismatch",
        ),
        (
            None,
            Embedded("words@1", np.eye(4, dtype=np.float32)[:1]),
            Reason.UNAVAILABLE,
            "embedding_mismatch",
        ),
        (None, Embedded("words@1", np.zeros((1, 5), np.float32)), Reason.UNAVAILABLE, "embedding_mismatch"),
        (
            None,
            Embedded("words@1", np.full((1, 5), np.nan, np.float32)),
            Reason.UNAVAILABLE,
            "embedding_mismatch",
        ),
    ],
    ids=["late", "failing", "another model", "dimension", "zero", "NaN"],
)
async def test_what_goes_wrong_leaves_keywords_and_is_told(failing, answer, reason, code):
    embedder = WordEmbedder()
    embedder.failing, embedder.answer = failing, answer
    vector, degradation = await search(embedder).ask(DEFAULT, FULL, "the cat", 1.0)
    assert vector is None
    assert degradation is not None
    assert (degradation.section, degradation.status) == (SectionKind.HISTORY, SectionStatus.TRUNCATED)
    assert degradation.reason is reason
    assert degradation.detail.startswith(f"{code}: ")
    assert "secret" not in degradation.detail


async def test_an_embedder_that_hangs_takes_its_share_of_the_time_and_no_more(monkeypatch):
    embedder = WordEmbedder()

    async def hang(texts):
        await asyncio.Event().wait()

    monkeypatch.setattr(embedder, "embed", hang)
    _, degradation = await search(embedder).ask(DEFAULT, FULL, "the cat", 0.01)
    assert degradation is not None
    assert degradation.reason is Reason.LATE


async def test_without_an_indexer_archiving_waits_for_nothing():
    embedder = WordEmbedder()
    await search(embedder).archived(UserRef("acme", "ann"), 5)
    assert embedder.asked == []
