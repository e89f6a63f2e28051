import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from assemblers.excerpts import index_text
from assemblers.ranking import VectorSpace
from assemblers.records import UserRef
from gateway.embedders import Embeddings
from gateway.usecases.indexing import BATCH, Indexer, embedded_text
from storage.conformance.samples import NOW, OTHER, USER, archived, receipt
from storage.errors import StorageUnavailable
from storage.ports import Storage
from storage.sqlite import open_sqlite
from tests.embedding import WordEmbedder


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    async with await open_sqlite(tmp_path) as opened:
        yield opened


@pytest.fixture(autouse=True)
def pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.usecases.indexing.PAUSE_SECONDS", 0.0)


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
async def indexer(storage: Storage, embedder: WordEmbedder) -> AsyncIterator[Indexer]:
    made = make(storage, embedder)
    yield made
    await made.close()


def make(storage: Storage, embedder: WordEmbedder) -> Indexer:
    storage.archives.carry(embedder.info.space)
    return Indexer(storage.archives, Embeddings(embedder))


async def archive(storage: Storage, *texts: str, user: UserRef = USER, session: str = "s") -> None:
    await storage.archives.append(user, [archived(session, *texts)], NOW, receipt())


async def missing(storage: Storage, user: UserRef = USER) -> list[str]:
    snapshot = await storage.archives.load(user)
    assert snapshot.vectors is not None
    return [snapshot.excerpts[index].text for index in snapshot.vectors.missing().tolist()]


async def until_idle(indexer: Indexer) -> None:
    worker = indexer._worker
    if worker is not None:
        await worker


async def notice(indexer: Indexer, storage: Storage, user: UserRef = USER) -> None:
    indexer.notice(user, await storage.archives.load(user))
    await until_idle(indexer)


async def test_what_was_just_archived_has_its_vectors_when_the_call_ends(storage, indexer, embedder):
    await archive(storage, "the invoice", "the cat")
    await indexer.index(USER, 2)
    assert await missing(storage) == []
    assert embedder.asked == ["User (15 November 2026): the invoice", "User (15 November 2026): the cat"]


async def test_an_archive_in_use_gets_the_vectors_that_it_lacks(storage, indexer):
    await archive(storage, *(f"turn {i}" for i in range(BATCH * 5)))
    assert len(await missing(storage)) == BATCH * 5
    await notice(indexer, storage)
    assert await missing(storage) == []


async def test_batches_grow_with_the_archive_so_that_it_is_loaded_a_handful_of_times(storage, indexer):
    epochs = (await storage.archives.load(USER)).epoch
    await archive(storage, *(f"turn {i}" for i in range(BATCH * 16)))
    await notice(indexer, storage)
    # 16 and 16, 32, 64, 128.
    assert (await storage.archives.load(USER)).epoch == epochs + 1 + 5


async def test_another_embedder_embeds_everything_anew_and_the_former_vectors_stay(storage, embedder):
    first, second = make(storage, embedder), WordEmbedder("words@2")
    await archive(storage, "the invoice", "the cat")
    await notice(first, storage)
    changed = make(storage, second)
    assert len(await missing(storage)) == 2
    await notice(changed, storage)
    assert await missing(storage) == []
    assert len(second.asked) == 2
    storage.archives.carry(embedder.info.space)
    assert await missing(storage) == []


async def test_a_text_that_the_embedder_fails_on_is_parked_and_holds_up_nobody(storage, indexer, embedder):
    embedder.poison = "cursed"
    await archive(storage, "the invoice", "a cursed text", "the cat")
    await notice(indexer, storage)
    assert await missing(storage) == ["a cursed text"]
    asked = len(embedder.asked)
    for _ in range(3):
        await notice(indexer, storage)
    assert len(embedder.asked) == asked


async def test_what_was_parked_does_not_keep_later_excerpts_from_being_embedded(storage, indexer, embedder):
    embedder.poison = "cursed"
    await archive(storage, "a cursed text")
    await notice(indexer, storage)
    await archive(storage, "the cat", session="next")
    await notice(indexer, storage)
    assert await missing(storage) == ["a cursed text"]


async def test_a_late_embedder_is_tried_again_when_the_archive_is_next_used(storage, indexer, embedder):
    embedder.failing = TimeoutError()
    await archive(storage, "the invoice")
    await notice(indexer, storage)
    assert await missing(storage) == ["the invoice"]
    embedder.failing = None
    await notice(indexer, storage)
    assert await missing(storage) == []


async def test_a_store_that_does_not_answer_costs_no_call(storage, indexer, monkeypatch):
    await archive(storage, "the invoice")

    async def down(*_: object) -> int:
        raise StorageUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(storage.archives, "add_vectors", down)
        await indexer.index(USER, 1)
    assert await missing(storage) == ["the invoice"]
    await notice(indexer, storage)
    assert await missing(storage) == []


async def test_vectors_that_cannot_be_read_back_are_not_tried_for_ever(storage, indexer, embedder):
    await archive(storage, "the invoice", "the cat")
    narrow = VectorSpace(embedder.info.space.id, 2)
    await storage.archives.add_vectors(USER, narrow, {1: np.array([1, 0], np.float32)})
    await notice(indexer, storage)
    await notice(indexer, storage)
    assert await missing(storage) == ["the invoice"]
    assert len(embedder.asked) <= 3


async def test_after_a_failure_there_is_a_pause(storage, indexer, embedder, monkeypatch):
    monkeypatch.setattr("gateway.usecases.indexing.PAUSE_SECONDS", 3600.0)
    embedder.failing = TimeoutError()
    await archive(storage, "the invoice")
    for _ in range(5):
        await indexer.index(USER, 1)
        indexer.notice(USER, await storage.archives.load(USER))
    assert len(embedder.asked) == 1


async def test_a_call_waits_only_where_little_is_new(storage, indexer, embedder):
    await archive(storage, *(f"turn {i}" for i in range(BATCH + 1)))
    await indexer.index(USER, BATCH + 1)
    assert embedder.asked == []
    await until_idle(indexer)
    assert await missing(storage) == []


async def test_a_call_does_not_wait_for_an_embedder_that_hangs(storage, indexer, embedder, monkeypatch):
    monkeypatch.setattr("gateway.usecases.indexing.WAIT_SECONDS", 0.01)

    async def hang(texts):
        await asyncio.Event().wait()

    embedder.embed = hang
    await archive(storage, "the invoice")
    await indexer.index(USER, 1)
    assert await missing(storage) == ["the invoice"]


async def test_who_just_archived_goes_before_who_was_found(storage, indexer, embedder):
    for user, text in ((USER, "first"), (OTHER, "second")):
        await archive(storage, text, user=user)
    third = UserRef("acme", "carol")
    await archive(storage, "third", user=third)
    found = [(user, await storage.archives.load(user)) for user in (USER, OTHER)]
    for user, snapshot in found:
        indexer.notice(user, snapshot)
    await indexer.index(third, 1)
    await until_idle(indexer)
    assert [text.rpartition(" ")[2] for text in embedder.asked] == ["third", "first", "second"]


async def test_a_long_archive_lets_others_in_between(storage, indexer, embedder):
    await archive(storage, *(f"long {i}" for i in range(BATCH * 8)))
    await archive(storage, "short", user=OTHER)
    indexer.notice(USER, await storage.archives.load(USER))
    indexer.notice(OTHER, await storage.archives.load(OTHER))
    await until_idle(indexer)
    place = next(at for at, text in enumerate(embedder.asked) if text.endswith("short"))
    assert place == BATCH
    assert await missing(storage) == await missing(storage, OTHER) == []


async def test_too_many_that_wait_are_found_again_later(storage, indexer, monkeypatch):
    monkeypatch.setattr("gateway.usecases.indexing.MAX_WAITING", 1)
    await archive(storage, "first")
    await archive(storage, "second", user=OTHER)
    indexer.notice(USER, await storage.archives.load(USER))
    await indexer.index(OTHER, 1)
    await until_idle(indexer)
    assert (await missing(storage), await missing(storage, OTHER)) == ([], ["second"])
    await notice(indexer, storage, OTHER)
    assert await missing(storage, OTHER) == []


async def test_closing_stops_the_work_and_whoever_waits(storage, embedder):
    indexer = make(storage, embedder)
    entered = asyncio.Event()

    async def hang(texts):
        entered.set()
        await asyncio.Event().wait()

    embedder.embed = hang
    await archive(storage, "the invoice")
    indexer.notice(USER, await storage.archives.load(USER))
    await entered.wait()
    await indexer.close()
    assert await missing(storage) == ["the invoice"]


async def test_an_excerpt_is_embedded_under_the_text_that_its_terms_are_of(storage):
    await archive(storage, "the invoice")
    (excerpt,) = (await storage.archives.load(USER)).excerpts
    day = datetime(2026, 11, 15, tzinfo=UTC).date()
    assert embedded_text(excerpt) == index_text("User", day, "the invoice")
