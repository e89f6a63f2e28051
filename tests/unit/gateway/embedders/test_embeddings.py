import asyncio

import numpy as np
import pytest

from assemblers.ranking import VectorSpace
from gateway.embedders import (
    Embedded,
    EmbedderFailed,
    EmbedderInfo,
    EmbedderLate,
    EmbeddingMismatch,
    Embeddings,
)
from gateway.embedders.embeddings import MAX_UNDER_WAY

SPACE = VectorSpace("toy@1", 2)
EAST = np.array([1, 0], np.float32)


class Toy:
    """Answers with `answer`, or raises it; remembers what it was asked."""

    info = EmbedderInfo(SPACE, ("en",), question_prefix="query: ", document_prefix="passage: ")

    def __init__(self, answer=None):
        self.answer, self.asked, self.closed = answer, [], False

    async def embed(self, texts):
        self.asked += texts
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer or Embedded(SPACE.id, np.stack([EAST] * len(texts)))

    def close(self):
        self.closed = True


class Hanging(Toy):
    async def embed(self, texts):
        await asyncio.Event().wait()


async def test_questions_and_excerpts_have_their_own_prefixes():
    toy = Toy()
    embeddings = Embeddings(toy)
    assert (await embeddings.question("who?", 1.0)).tolist() == [4000, 0]
    assert (await embeddings.document("Ann: hello")).tolist() == [1, 0]
    assert toy.asked == ["query: who?", "passage: Ann: hello"]


async def test_a_question_is_embedded_once():
    toy = Toy()
    embeddings = Embeddings(toy)
    for _ in range(3):
        await embeddings.question("who?", 1.0)
    await embeddings.question("when?", 1.0)
    assert toy.asked == ["query: who?", "query: when?"]


async def test_no_question_stays_in_memory_as_text():
    embeddings = Embeddings(Toy())
    await embeddings.question("my secret canary", 1.0)
    assert "canary" not in repr(vars(embeddings._questions))


@pytest.mark.parametrize(("seconds", "own"), [(0.01, 30.0), (30.0, 0.01)])
async def test_a_late_vector_is_not_waited_for(seconds, own):
    with pytest.raises(EmbedderLate):
        await Embeddings(Hanging(), own).question("who?", seconds)


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), ValueError("secret"), MemoryError()])
async def test_a_failing_embedder_fails_without_its_words(error):
    with pytest.raises(EmbedderFailed) as caught:
        await Embeddings(Toy(error)).question("who?", 1.0)
    assert str(caught.value) == ""
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "answer",
    [
        Embedded("other@1", np.array([[1, 0]], np.float32)),
        Embedded(SPACE.id, np.array([[1, 0, 0]], np.float32)),
        Embedded(SPACE.id, np.array([[np.nan, 0]], np.float32)),
        Embedded(SPACE.id, np.array([[np.inf, 0]], np.float32)),
        Embedded(SPACE.id, np.zeros((1, 2), np.float32)),
        Embedded(SPACE.id, np.zeros((0, 2), np.float32)),
        Embedded(SPACE.id, np.array([[1, 0], [1, 0]], np.float32)),
        Embedded(SPACE.id, np.array([1.0], np.float32)),
    ],
    ids=["another model", "dimension", "NaN", "infinite", "zero", "no row", "two rows", "no rows at all"],
)
@pytest.mark.parametrize("what", ["question", "document"])
async def test_what_is_no_vector_of_the_space_is_discarded(answer, what):
    embeddings = Embeddings(Toy(answer))
    with pytest.raises(EmbeddingMismatch):
        await (embeddings.question("who?", 1.0) if what == "question" else embeddings.document("text"))


async def test_what_was_discarded_is_asked_for_again():
    toy = Toy(Embedded("other@1", np.array([[1, 0]], np.float32)))
    embeddings = Embeddings(toy)
    with pytest.raises(EmbeddingMismatch):
        await embeddings.question("who?", 1.0)
    toy.answer = None
    assert (await embeddings.question("who?", 1.0)).tolist() == [4000, 0]


class Gated(Toy):
    """Answers once it is let go."""

    def __init__(self):
        super().__init__()
        self.gate = asyncio.Event()

    async def embed(self, texts):
        self.asked += texts
        await self.gate.wait()
        return Embedded(SPACE.id, np.stack([EAST] * len(texts)))


async def test_a_vector_that_came_too_late_serves_the_next_call():
    gated = Gated()
    embeddings = Embeddings(gated)
    with pytest.raises(EmbedderLate):
        await embeddings.question("who?", 0.01)
    gated.gate.set()
    assert (await embeddings.question("who?", 30.0)).tolist() == [4000, 0]
    assert gated.asked == ["query: who?"]


async def test_calls_with_the_same_question_share_its_vector():
    gated = Gated()
    embeddings = Embeddings(gated)
    calls = [asyncio.create_task(embeddings.question("who?", 30.0)) for _ in range(5)]
    await asyncio.sleep(0)
    calls[0].cancel()
    gated.gate.set()
    assert [(await call).tolist() for call in calls[1:]] == [[4000, 0]] * 4
    assert gated.asked == ["query: who?"]


async def test_more_questions_than_can_be_embedded_in_time_are_told_at_once():
    gated = Gated()
    embeddings = Embeddings(gated)
    calls = [asyncio.create_task(embeddings.question(f"{i}?", 30.0)) for i in range(MAX_UNDER_WAY)]
    await asyncio.sleep(0)
    with pytest.raises(EmbedderLate):
        await embeddings.question("one more?", 30.0)
    gated.gate.set()
    await asyncio.gather(*calls)
    assert len(await embeddings.question("one more?", 30.0)) == 2


async def test_closing_gives_up_what_is_under_way():
    embeddings = Embeddings(Gated())
    call = asyncio.create_task(embeddings.question("who?", 30.0))
    await asyncio.sleep(0)
    embeddings.close()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert embeddings._under_way == {}


async def test_a_cancelled_call_stays_cancelled():
    task = asyncio.create_task(Embeddings(Hanging()).question("who?", 30.0))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_closing_closes_the_embedder():
    toy = Toy()
    Embeddings(toy).close()
    assert toy.closed
