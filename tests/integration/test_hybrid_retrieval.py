"""Searching by meaning through the whole gateway: found, told, traced, replayed, and lost without harm."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from assemblers.records import UserRef
from gateway.backends import Backends
from gateway.embedders import Embedded, Embeddings
from gateway.usecases.indexing import Indexer
from gateway.usecases.vector_search import VectorSearch
from muniment.v1 import context_pb2, history_pb2, policy_service_pb2, session_pb2, trace_pb2, types_pb2
from storage.sqlite import open_sqlite
from tests.embedding import WordEmbedder
from tests.integration.in_process import START, Gateway

ANN = UserRef("acme", "ann")
USER = types_pb2.UserRef(tenant_id="acme", user_id="ann")
SAID = ("The invoice was wrong by 20 euros.", "A kitten moved in with us.", "We had a nice journey.")
POLICY = """\
policy_id: recall
sections:
  - history: {%s}
    budget: {ceiling_tokens: 4000}
  - question: {}
archive: {keep_turns: true, on_end_session: true}
"""


@asynccontextmanager
async def gateway_with(folder: Path, embedder: WordEmbedder | None) -> AsyncIterator[Gateway]:
    async with await open_sqlite(folder) as storage:
        search, indexer = VectorSearch(), None
        if embedder is not None:
            embeddings = Embeddings(embedder)
            storage.archives.carry(embeddings.space)
            indexer = Indexer(storage.archives, embeddings)
            search = VectorSearch(embeddings, indexer)
        yield Gateway(storage, backends=replace(Backends.of(storage), vectors=search))
        if indexer is not None:
            await indexer.close()


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
async def gateway(tmp_path: Path, embedder: WordEmbedder) -> AsyncIterator[Gateway]:
    async with gateway_with(tmp_path, embedder) as gateway:
        await prepare(gateway)
        yield gateway


async def prepare(gateway: Gateway, settings: str = "", texts: tuple[str, ...] = SAID) -> None:
    yaml = (POLICY % settings).encode()
    await gateway.use(policy_service_pb2.RegisterPolicyRevisionRequest(tenant_id="acme", yaml=yaml))
    start = Timestamp()
    start.FromDatetime(START - timedelta(days=9))
    turns = [turn(f"t{place}", text) for place, text in enumerate(texts)]
    past = history_pb2.PastSession(session_id="past", start_time=start, turns=turns)
    await gateway.call("ImportHistory", history_pb2.ImportHistoryRequest(user=USER, sessions=[past]))


def turn(turn_id: str, text: str) -> types_pb2.Turn:
    return types_pb2.Turn(turn_id=turn_id, role=types_pb2.ROLE_USER, contents=[types_pb2.Content(text=text)])


def session(session_id: str = "now") -> types_pb2.SessionRef:
    return types_pb2.SessionRef(tenant_id="acme", user_id="ann", session_id=session_id)


async def ask(gateway: Gateway, question: str, turn_id: str = "q") -> Any:
    request = context_pb2.AssembleContextRequest(session=session(), turn=turn(turn_id, question))
    return await gateway.call("AssembleContext", request)


async def trace_of(gateway: Gateway, answer: Any) -> Any:
    return (await gateway.call("GetTrace", trace_pb2.GetTraceRequest(name=answer.trace))).trace


def text_of(answer: Any) -> str:
    return "".join(part.content.text for message in answer.prompt.messages for part in message.parts)


async def embed_now(gateway: Gateway) -> None:
    """What the background does, now."""
    assert gateway.backends is not None
    await gateway.backends.vectors.archived(ANN, 1)


def excerpts_in(trace: Any) -> list[str]:
    section, included = types_pb2.SECTION_KIND_HISTORY, trace_pb2.OUTCOME_INCLUDED
    return [c.item_id for c in trace.candidates if c.section == section and c.outcome == included]


async def test_what_shares_no_word_with_the_question_is_found_by_meaning(gateway):
    answer = await ask(gateway, "How high was the bill?")
    assert SAID[0] in text_of(answer)
    assert SAID[2] not in text_of(answer)
    assert list(answer.degradations) == []


async def test_the_same_question_without_an_embedder_finds_nothing_and_says_nothing(tmp_path):
    async with gateway_with(tmp_path, None) as gateway:
        await prepare(gateway)
        answer = await ask(gateway, "How high was the bill?")
        assert SAID[0] not in text_of(answer)
        assert list(answer.degradations) == []
        assert (await trace_of(gateway, answer)).history.embedder == ""


async def test_the_trace_has_the_embedder_and_both_scores(gateway):
    trace = await trace_of(gateway, await ask(gateway, "How high was the bill?"))
    history = trace.history
    assert (history.embedder, history.similarity_floor, history.embedded_count) == ("words@1", 0.3, 3)
    found = next(c for c in trace.candidates if c.item_id == "excerpt/1")
    scores = {score.name: score.value for score in found.scores}
    assert list(scores) == ["total", "cosine", "keyword", "neighbour", "session"]
    assert scores["cosine"] == pytest.approx(1.0, abs=0.01)
    assert scores["keyword"] == 0


async def test_a_trace_replays_to_the_same_bytes_without_any_embedder(tmp_path, embedder):
    async with gateway_with(tmp_path, embedder) as gateway:
        await prepare(gateway)
        answer = await ask(gateway, "How high was the bill?")
    async with gateway_with(tmp_path, None) as gateway:
        replayed = await gateway.call("ReplayTrace", trace_pb2.ReplayTraceRequest(name=answer.trace))
        assert replayed.identical
        assert replayed.prompt.SerializeToString() == answer.prompt.SerializeToString()


async def test_a_search_finds_by_meaning_with_its_cosine(gateway):
    request = history_pb2.SearchHistoryRequest(user=USER, query="cat")
    result = await gateway.call("SearchHistory", request)
    assert [match.excerpt.text for match in result.matches] == [SAID[1]]
    assert [score.name for score in result.matches[0].scores] == [
        "total",
        "keyword",
        "neighbour",
        "session",
        "cosine",
    ]
    assert (result.embedder, list(result.degradations)) == ("words@1", [])


async def test_the_threshold_of_a_policy_beats_that_of_the_embedder(tmp_path, embedder):
    async with gateway_with(tmp_path, embedder) as gateway:
        await prepare(gateway, "min_similarity_permille: 1000")
        trace = await trace_of(gateway, await ask(gateway, "How high was the bill?"))
        assert excerpts_in(trace) == []
        low = next(c for c in trace.candidates if c.item_id == "excerpt/1")
        assert low.policy_field == "sections[0].history.min_similarity_permille"


async def test_a_policy_that_keeps_to_keywords_asks_no_embedder(tmp_path, embedder):
    async with gateway_with(tmp_path, embedder) as gateway:
        await prepare(gateway, "retrieval: KEYWORD")
        asked = len(embedder.asked)
        answer = await ask(gateway, "How high was the bill?")
        assert len(embedder.asked) == asked
        assert SAID[0] not in text_of(answer)
        assert (await trace_of(gateway, answer)).history.embedder == ""


async def test_a_policy_that_demands_vectors_is_told_where_there_is_no_embedder(tmp_path):
    async with gateway_with(tmp_path, None) as gateway:
        await prepare(gateway, "retrieval: HYBRID")
        (missing,) = (await ask(gateway, "How high was the bill?")).degradations
        assert missing.section == types_pb2.SECTION_KIND_HISTORY
        assert missing.detail == "keyword_only: the gateway has no embedder"


@pytest.mark.parametrize(
    ("failing", "answer", "code"),
    [
        (TimeoutError(), None, "keyword_only: "),
        (RuntimeError("boom"), None, "keyword_only: "),
        (None, Embedded("other@9", np.eye(5, dtype=np.float32)[:1]), "embedding_mismatch: "),
        (None, Embedded("words@1", np.full((1, 5), np.nan, np.float32)), "embedding_mismatch: "),
    ],
    ids=["late", "failing", "another model", "NaN"],
)
async def test_a_question_without_a_vector_is_answered_by_keywords_and_says_so(
    gateway, embedder, failing, answer, code
):
    embedder.failing, embedder.answer = failing, answer
    found = await ask(gateway, "Which invoice was wrong?")
    assert SAID[0] in text_of(found)
    (missing,) = found.degradations
    assert missing.section == types_pb2.SECTION_KIND_HISTORY
    assert missing.status == types_pb2.SECTION_STATUS_TRUNCATED
    assert missing.detail.startswith(code)
    assert any(code in warning for warning in found.warnings)
    trace = await trace_of(gateway, found)
    assert trace.history.embedder == ""
    replayed = await gateway.call("ReplayTrace", trace_pb2.ReplayTraceRequest(name=found.trace))
    assert replayed.identical
    result = await gateway.call("SearchHistory", history_pb2.SearchHistoryRequest(user=USER, query="invoice"))
    assert [each.detail[: len(code)] for each in result.degradations] == [code]
    assert result.matches[0].excerpt.text == SAID[0]


async def test_an_empty_archive_misses_no_vectors(tmp_path, embedder):
    async with gateway_with(tmp_path, embedder) as gateway:
        yaml = (POLICY % "").encode()
        await gateway.use(policy_service_pb2.RegisterPolicyRevisionRequest(tenant_id="acme", yaml=yaml))
        embedder.failing = RuntimeError("boom")
        assert list((await ask(gateway, "How high was the bill?")).degradations) == []


async def test_archiving_while_the_embedder_fails_keeps_the_text_and_its_vector_follows(
    tmp_path, embedder, monkeypatch
):
    monkeypatch.setattr("gateway.usecases.indexing.PAUSE_SECONDS", 0.0)
    embedder.failing = TimeoutError()
    async with gateway_with(tmp_path, embedder) as gateway:
        await prepare(gateway)
        assert SAID[0] in text_of(await ask(gateway, "Which invoice was wrong?", "q1"))
        embedder.failing = None
        await ask(gateway, "How high was the bill?", "q2")
        await embed_now(gateway)
        assert SAID[0] in text_of(await ask(gateway, "How high was the bill?", "q3"))


async def test_what_a_session_said_is_found_by_meaning_once_it_has_ended(gateway):
    said = session("talk")
    record = session_pb2.RecordTurnsRequest(session=said, turns=[turn("r1", "The weather was awful in May.")])
    await gateway.call("RecordTurns", record)
    await gateway.call("EndSession", session_pb2.EndSessionRequest(session=said))
    answer = await ask(gateway, "Did it rain?")
    assert "The weather was awful in May." in text_of(answer)
    assert (await trace_of(gateway, answer)).history.embedded_count == 4


@pytest.mark.parametrize("unused", [0, 379])
async def test_after_a_change_of_the_embedder_nothing_is_compared_until_it_is_embedded_anew(
    tmp_path, embedder, unused
):
    """P65: also of the dimension."""
    async with gateway_with(tmp_path, embedder) as gateway:
        await prepare(gateway)
    other = WordEmbedder("words@2", unused=unused)
    async with gateway_with(tmp_path, other) as gateway:
        first = await ask(gateway, "Which invoice was wrong?", "q1")
        assert SAID[0] in text_of(first)
        assert (await trace_of(gateway, first)).history.embedder == ""
        await embed_now(gateway)
        second = await ask(gateway, "How high was the bill?", "q2")
        assert SAID[0] in text_of(second)
        assert (await trace_of(gateway, second)).history.embedder == "words@2"
