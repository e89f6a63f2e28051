import asyncio

import numpy as np
import pytest

from assemblers.policy.model import HistorySection, Retrieval
from assemblers.records import Reason, SectionKind, SectionStatus, UserRef
from gateway.embedders import Embedded, Embeddings
from gateway.usecases.vector_search import NOT_ASKED, VectorSearch
from tests.embedding import WordEmbedder

DEFAULT, KEYWORD = HistorySection(), HistorySection(retrieval=Retrieval.KEYWORD)
HYBRID = HistorySection(retrieval=Retrieval.HYBRID)


def search(embedder: WordEmbedder) -> VectorSearch:
    return VectorSearch(Embeddings(embedder))


@pytest.mark.parametrize("settings", [DEFAULT, HYBRID])
async def test_a_question_is_embedded_where_there_is_an_embedder(settings):
    asked = await search(WordEmbedder()).ask(settings, "the cat", 1.0)
    assert asked.degradation is None
    assert asked.vector is not None
    assert np.argmax(asked.vector) == 1


@pytest.mark.parametrize("settings", [KEYWORD, None])
async def test_no_question_is_embedded_where_the_policy_wants_none(settings):
    embedder = WordEmbedder()
    assert await search(embedder).ask(settings, "the cat", 1.0) == NOT_ASKED
    assert embedder.asked == []
    assert not search(embedder).wanted(settings)


@pytest.mark.parametrize("settings", [DEFAULT, KEYWORD, None])
async def test_without_an_embedder_keywords_are_no_loss(settings):
    assert await VectorSearch().ask(settings, "the cat", 1.0) == NOT_ASKED
    assert VectorSearch().space is None


async def test_a_policy_that_demands_vectors_is_told_that_there_are_none():
    asked = await VectorSearch().ask(HYBRID, "the cat", 1.0)
    assert asked.vector is None
    assert asked.degradation is not None
    assert asked.degradation.reason is Reason.UNAVAILABLE
    assert asked.degradation.detail == "keyword_only: the gateway has no embedder"


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
    vector, degradation = await search(embedder).ask(DEFAULT, "the cat", 1.0)
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
    _, degradation = await search(embedder).ask(DEFAULT, "the cat", 0.01)
    assert degradation is not None
    assert degradation.reason is Reason.LATE


async def test_without_an_indexer_archiving_waits_for_nothing():
    embedder = WordEmbedder()
    await search(embedder).archived(UserRef("acme", "ann"), 5)
    assert embedder.asked == []
