"""The session cache: slots until their time is up, and no update lost."""

import asyncio

from assemblers.records import Certainty, Filter, Focus, RecentQuestion, SessionRef, Slots
from storage.conformance.samples import NOW, SESSION, later
from storage.conformance.texts import NAUGHTY
from storage.ports import SessionCache, SessionState

ODD = "é\u0301 👩‍👩‍👧 \"'\\ {tag} \r\n\t\u2028 \ufeff '; DROP 日本語"
"""Text that some encoding or quoting could change."""


def full_slots(text: str) -> Slots:
    """Slots with everything in them."""
    return Slots(
        Focus("customer", "c/1", text, Certainty.CONFIRMED, "tool/find", "t1"),
        (
            Filter("period", text, Certainty.TENTATIVE, "caller", "t1"),
            Filter("region", "EU", Certainty.CONFIRMED, "tool/find", ""),
        ),
        "table",
        (RecentQuestion("t1", text), RecentQuestion("t2", "")),
    )


class SessionCacheSuite:
    """Runs on a `sessions` fixture, an empty cache."""

    async def test_an_unknown_session_is_none(self, sessions: SessionCache) -> None:
        assert await sessions.get(SESSION, NOW) is None

    async def test_slots_are_read_back_with_revisions_that_grow(self, sessions: SessionCache) -> None:
        for revision in range(3):
            slots = Slots(answer_format=f"f{revision}")
            assert await sessions.put(SESSION, slots, revision, NOW, 60)
            state = await sessions.get(SESSION, NOW)
            assert state == SessionState(slots, revision + 1)
            assert state is not None
            assert state.expire_time == later(minutes=1)

    async def test_slots_come_back_exactly_as_they_were(self, sessions: SessionCache) -> None:
        slots = full_slots(ODD)
        await sessions.put(SESSION, slots, 0, NOW, 60)
        assert await sessions.get(SESSION, NOW) == SessionState(slots, 1)

    async def test_an_expired_session_is_gone_without_a_sweeper(self, sessions: SessionCache) -> None:
        await sessions.put(SESSION, Slots(answer_format="f"), 0, NOW, 1)
        assert await sessions.get(SESSION, later(microseconds=999_999)) is not None
        assert await sessions.get(SESSION, later(seconds=1)) is None
        assert await sessions.put(SESSION, Slots(), 0, later(seconds=1), 60)

    async def test_each_put_starts_the_time_anew(self, sessions: SessionCache) -> None:
        await sessions.put(SESSION, Slots(), 0, NOW, 3_600)
        await sessions.put(SESSION, Slots(), 1, later(minutes=59), 3_600)
        assert await sessions.get(SESSION, later(minutes=118)) is not None

    async def test_a_put_of_another_revision_changes_nothing(self, sessions: SessionCache) -> None:
        await sessions.put(SESSION, Slots(answer_format="mine"), 0, NOW, 60)
        for revision in (0, 2, -1):
            assert not await sessions.put(SESSION, Slots(answer_format="other"), revision, NOW, 60)
        assert await sessions.get(SESSION, NOW) == SessionState(Slots(answer_format="mine"), 1)

    async def test_a_dropped_session_is_gone(self, sessions: SessionCache) -> None:
        await sessions.put(SESSION, Slots(), 0, NOW, 60)
        await sessions.drop(SESSION)
        await sessions.drop(SESSION)
        assert await sessions.get(SESSION, NOW) is None

    async def test_a_session_that_was_dropped_or_expired_begins_anew(self, sessions: SessionCache) -> None:
        for _ in range(2):
            await sessions.put(SESSION, Slots(), 0, NOW, 1)
            await sessions.put(SESSION, Slots(), 1, NOW, 1)
            assert await sessions.put(SESSION, Slots(), 0, later(seconds=1), 60)
            assert await sessions.get(SESSION, later(seconds=1)) == SessionState(Slots(), 1)
            await sessions.drop(SESSION)

    async def test_ids_that_look_alike_are_different_sessions(self, sessions: SessionCache) -> None:
        alike = [
            SessionRef(*ids)
            for ids in (
                ("a:b", "c", "d"),
                ("a", "b:c", "d"),
                ("a", "b", "c:d"),
                ("A", "b:c", "d"),
                ("a", "b:c", "d "),
            )
        ]
        for index, session in enumerate(alike):
            assert await sessions.get(session, NOW) is None
            await sessions.put(session, Slots(answer_format=str(index)), 0, NOW, 60)
        states = [await sessions.get(session, NOW) for session in alike]
        assert [state.slots.answer_format for state in states if state] == ["0", "1", "2", "3", "4"]

    async def test_naughty_texts_come_back_as_they_were_given(self, sessions: SessionCache) -> None:
        """P81, in every slot that holds a text."""
        for index, text in enumerate(NAUGHTY):
            session = SessionRef("acme", "ann", f"s{index}")
            slots = Slots(
                focus=Focus("order", text, text, Certainty.CONFIRMED, text, text),
                filters=(Filter("region", text, Certainty.TENTATIVE, text, text),),
                answer_format=text,
                recent_questions=(RecentQuestion(f"t{index}", text),),
            )
            assert await sessions.put(session, slots, 0, NOW, 60)
            assert await sessions.get(session, NOW) == SessionState(slots, 1)

    async def test_fifty_writers_at_once_lose_nothing(self, sessions: SessionCache) -> None:
        async def add(number: int) -> None:
            stored = False
            while not stored:
                state = await sessions.get(SESSION, NOW) or SessionState(Slots(), 0)
                await asyncio.sleep(0)
                questions = (*state.slots.recent_questions, RecentQuestion(f"t{number}", ""))
                stored = await sessions.put(
                    SESSION, Slots(recent_questions=questions), state.revision, NOW, 60
                )

        await asyncio.gather(*(add(number) for number in range(50)))
        state = await sessions.get(SESSION, NOW)
        assert state is not None
        assert state.revision == 50
        assert {question.turn_id for question in state.slots.recent_questions} == {f"t{n}" for n in range(50)}

    async def test_fifty_sessions_at_once_are_not_mixed_up(self, sessions: SessionCache) -> None:
        async def talk(number: int) -> None:
            session, mark = SessionRef("acme", f"u{number % 7}", f"s{number}"), f"mark {number}"
            for revision in range(3):
                assert await sessions.put(session, full_slots(mark), revision, NOW, 60)
                assert await sessions.get(session, NOW) == SessionState(full_slots(mark), revision + 1)

        await asyncio.gather(*(talk(number) for number in range(50)))
