"""Changes of one session's slots at once, in one process and in several, over a cache that takes its time."""

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

from assemblers.policy.model import Policy
from assemblers.records import RecentQuestion, SessionRef, Slots
from gateway.errors import Aborted
from gateway.usecases.slot_book import ATTEMPTS, SlotBook
from storage.conformance.samples import NOW, SESSION, later
from storage.errors import StorageFull, StorageUnavailable
from storage.memory import MemorySessions
from storage.ports import SessionState

POLICY = Policy("bare", ())


class FarSessions(MemorySessions):
    """Others get their turn before each answer, as with a cache over the network."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self.refusals = 0
        self.answers = asyncio.Event()
        self.answers.set()

    async def get(self, session: SessionRef, now: datetime) -> SessionState | None:
        await asyncio.sleep(0)
        state = await super().get(session, now)
        await self.answers.wait()
        return state

    async def put(
        self, session: SessionRef, slots: Slots, expected_revision: int, now: datetime, ttl_seconds: int
    ) -> bool:
        await asyncio.sleep(0)
        if self.is_full:
            raise StorageFull
        if self.refusals:
            self.refusals -= 1
            return False
        return await super().put(session, slots, expected_revision, now, ttl_seconds)


async def remember(book: SlotBook, number: int) -> None:
    def change(slots: Slots) -> Slots:
        asked = RecentQuestion(f"t{number}", "")
        return replace(slots, recent_questions=(*slots.recent_questions, asked))

    await book.change(SESSION, POLICY, NOW, change)


async def remembered(book: SlotBook) -> list[str]:
    state = await book.read(SESSION, NOW)
    return sorted(question.turn_id for question in state.slots.recent_questions)


async def test_fifty_changes_at_once_lose_nothing_and_refuse_nobody():
    book = SlotBook(FarSessions())
    await asyncio.gather(*(remember(book, number) for number in range(50)))
    assert await remembered(book) == sorted(f"t{number}" for number in range(50))
    assert (await book.read(SESSION, NOW)).revision == 50


async def test_changes_through_several_processes_lose_nothing():
    cache = FarSessions()
    books = [SlotBook(cache) for _ in range(4)]
    await asyncio.gather(*(remember(books[number % 4], number) for number in range(40)))
    assert await remembered(books[0]) == sorted(f"t{number}" for number in range(40))


async def test_a_session_that_is_fought_over_without_end_is_aborted():
    cache = FarSessions()
    cache.refusals = ATTEMPTS
    with pytest.raises(Aborted):
        await remember(SlotBook(cache), 1)
    cache.refusals = ATTEMPTS - 1
    await remember(SlotBook(cache), 1)


async def test_a_full_cache_is_as_none():
    cache = FarSessions()
    cache.is_full = True
    with pytest.raises(StorageUnavailable):
        await remember(SlotBook(cache), 1)


class TestLooking:
    @staticmethod
    async def look(cache: FarSessions, book: SlotBook, revision: int, expires: datetime) -> bool:
        """Whether a state is told to be behind that another server of the cache has."""
        await cache.drop(SESSION)
        ttl = int((expires - NOW).total_seconds())
        for before in range(revision):
            await cache.put(SESSION, Slots(), before, NOW, ttl)
        state, is_behind = await book.look(SESSION, NOW)
        assert state.revision == revision
        return is_behind

    async def test_an_older_copy_is_told_from_a_session_that_began_anew(self):
        cache = FarSessions()
        book = SlotBook(cache)
        assert not await self.look(cache, book, 1, later(hours=1))
        await cache.drop(SESSION)
        for number in range(3):
            await remember(book, number)
        assert await self.look(cache, book, 2, later(hours=1))
        assert not await self.look(cache, book, 3, later(hours=1))
        # It expired, and another process began it anew.
        assert not await self.look(cache, book, 1, later(hours=3))
        assert not await self.look(cache, book, 0, later(hours=1))
        await book.drop(SESSION)
        assert not await self.look(cache, book, 2, later(hours=1))

    async def test_what_is_stored_while_the_cache_answers_is_no_loss(self):
        cache = FarSessions()
        book = SlotBook(cache)
        await remember(book, 1)
        cache.answers.clear()
        looking = asyncio.create_task(book.look(SESSION, NOW))
        await asyncio.sleep(0.01)
        assert await book.put(SESSION, POLICY, NOW, Slots(), 1)
        cache.answers.set()
        state, is_behind = await looking
        assert (state.revision, is_behind) == (1, False)
