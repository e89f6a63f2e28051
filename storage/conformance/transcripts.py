"""Turns of live sessions: in order, once, until they expire or the session ends."""

from assemblers.records import Role, SessionRef, Text, ToolCall, ToolResult, Turn
from storage.conformance.samples import (
    ALL,
    NOW,
    SESSION,
    USER,
    archived,
    later,
    receipt,
    refused,
    trace,
    turn,
)
from storage.errors import AlreadyExists, SessionChanged
from storage.ports import ArchiveWritten, PageRequest, Storage


class TranscriptSuite:
    """Recording, listing, the open turn, expiry and the end."""

    async def test_an_unknown_session_has_no_turns(self, storage: Storage) -> None:
        assert (await storage.transcripts.list(SESSION, NOW, ALL)).items == ()
        assert await storage.transcripts.since_last_question(SESSION, NOW) == ()

    async def test_turns_are_read_back_as_they_were_given(self, storage: Storage) -> None:
        turns = [
            turn("t1", "hello\x00 \r\n👩‍👩‍👧"),
            Turn(
                "t2", Role.ASSISTANT, (Text("a"), ToolCall("c1", "find", '{"q":"ä"}'), Text("")), NOW, "Bot"
            ),
            Turn(
                "t3",
                Role.TOOL,
                (ToolResult("c1", "find", is_error=True, result_json="null"),),
                later(seconds=1),
            ),
            Turn("t4", Role.ASSISTANT, (), NOW),
        ]
        written = await storage.transcripts.record(SESSION, turns, NOW, None, receipt())
        assert (written.recorded, written.duplicates) == (4, 0)
        assert (await storage.transcripts.list(SESSION, NOW, ALL)).items == tuple(turns)

    async def test_a_known_turn_with_equal_content_is_a_duplicate(self, storage: Storage) -> None:
        """P57: however often it comes."""
        await storage.transcripts.record(SESSION, [turn("t1")], NOW, None, receipt())
        for _ in range(10):
            again = await storage.transcripts.record(
                SESSION, [turn("t1", when=later(hours=1))], NOW, None, receipt()
            )
            assert (again.recorded, again.duplicates) == (0, 1)
        assert (await storage.transcripts.list(SESSION, NOW, ALL)).items == (turn("t1"),)

    async def test_a_known_turn_with_other_content_refuses_the_whole_batch(self, storage: Storage) -> None:
        await storage.transcripts.record(SESSION, [turn("t1")], NOW, None, receipt())
        others = (
            turn("t1", "other"),
            turn("t1", role=Role.ASSISTANT),
            Turn("t1", Role.USER, (Text("hello"),), NOW, "Al"),
        )
        for other in others:
            with refused(AlreadyExists) as caught:
                await storage.transcripts.record(SESSION, [turn("t0"), other], NOW, None, receipt())
            assert caught.error.what == "turn_id"
        assert (await storage.transcripts.list(SESSION, NOW, ALL)).items == (turn("t1"),)

    async def test_the_open_turn_is_the_latest_question_and_all_after_it(self, storage: Storage) -> None:
        turns = [turn("q1"), turn("a1", role=Role.ASSISTANT), turn("q2"), turn("c2", role=Role.ASSISTANT)]
        turns.append(turn("r2", role=Role.TOOL))
        await storage.transcripts.record(SESSION, turns, NOW, None, receipt())
        assert await storage.transcripts.since_last_question(SESSION, NOW) == tuple(turns[2:])

    async def test_without_a_question_all_turns_are_open(self, storage: Storage) -> None:
        turns = (turn("a1", role=Role.ASSISTANT), turn("r1", role=Role.TOOL))
        await storage.transcripts.record(SESSION, turns, NOW, None, receipt())
        assert await storage.transcripts.since_last_question(SESSION, NOW) == turns

    async def test_an_expired_turn_is_absent_from_the_very_instant(self, storage: Storage) -> None:
        """P41: with nothing that sweeps."""
        expires = later(seconds=1)
        await storage.transcripts.record(SESSION, [turn("t1")], NOW, expires, receipt())
        assert (await storage.transcripts.list(SESSION, later(microseconds=999_999), ALL)).items == (
            turn("t1"),
        )
        assert (await storage.transcripts.list(SESSION, expires, ALL)).items == ()
        assert await storage.transcripts.since_last_question(SESSION, expires) == ()

    async def test_an_expired_turn_gives_way_to_a_new_one_of_its_id(self, storage: Storage) -> None:
        await storage.transcripts.record(SESSION, [turn("t1", "old")], NOW, later(seconds=1), receipt())
        after = later(seconds=2)
        written = await storage.transcripts.record(SESSION, [turn("t1", "new")], after, None, receipt())
        assert written.recorded == 1
        assert [item.text for item in (await storage.transcripts.list(SESSION, after, ALL)).items] == ["new"]

    async def test_pages_hold_every_turn_once_in_order(self, storage: Storage) -> None:
        turns = [turn(f"t{index}") for index in range(7)]
        await storage.transcripts.record(SESSION, turns, NOW, None, receipt())
        found: list[Turn] = []
        cursor = ""
        for _ in range(3):
            page = await storage.transcripts.list(SESSION, NOW, PageRequest(3, cursor))
            found += page.items
            cursor = page.next_cursor
        assert (found, cursor) == (turns, "")

    async def test_a_turn_is_there_right_after_it_was_acknowledged(self, storage: Storage) -> None:
        """P67."""
        for index in range(200):
            await storage.transcripts.record(SESSION, [turn(f"t{index}")], NOW, None, receipt())
            assert await storage.transcripts.since_last_question(SESSION, NOW) == (turn(f"t{index}"),)

    async def test_ending_a_session_archives_and_removes_its_turns(self, storage: Storage) -> None:
        await storage.transcripts.record(SESSION, [turn("t1"), turn("t2")], NOW, None, receipt())
        neighbour = SessionRef("acme", "ann", "s2")
        await storage.transcripts.record(neighbour, [turn("t1")], NOW, None, receipt())
        ended = await storage.transcripts.end(SESSION, archived("s1", "a", "b"), NOW, receipt())
        assert ended.turns == 2
        assert ended.archived is not None
        assert ended.archived.added == 2
        assert (await storage.transcripts.list(SESSION, NOW, ALL)).items == ()
        assert (await storage.transcripts.list(neighbour, NOW, ALL)).items == (turn("t1"),)
        assert [item.text for item in (await storage.archives.load(USER)).excerpts] == ["a", "b"]

    async def test_ending_without_archiving_keeps_nothing(self, storage: Storage) -> None:
        await storage.transcripts.record(SESSION, [turn("t1")], NOW, None, receipt())
        ended = await storage.transcripts.end(SESSION, None, NOW, receipt())
        assert (ended.turns, ended.archived) == (1, None)
        assert (await storage.archives.load(USER)).excerpts == ()

    async def test_turns_recorded_since_the_archive_was_made_do_not_go_with_the_rest(
        self, storage: Storage
    ) -> None:
        await storage.transcripts.record(SESSION, [turn("t1"), turn("t2")], NOW, None, receipt())
        with refused(SessionChanged):
            await storage.transcripts.end(SESSION, archived("s1", "a"), NOW, receipt(), expected_turns=1)
        assert len((await storage.transcripts.list(SESSION, NOW, ALL)).items) == 2
        assert (await storage.archives.load(USER)).excerpts == ()
        ended = await storage.transcripts.end(
            SESSION, archived("s1", "a", "b"), NOW, receipt(), expected_turns=2
        )
        assert ended.turns == 2

    async def test_the_end_of_a_session_that_nobody_knows_makes_nothing(self, storage: Storage) -> None:
        """P13: asking about a user does not create it."""
        before = await storage.archives.load(USER)
        for nothing in (None, archived("s1")):
            ended = await storage.transcripts.end(SESSION, nothing, NOW, receipt())
            assert ended.turns == 0
            assert ended.archived in (None, ArchiveWritten(0, 0, 1, 1))
        after = await storage.archives.load(USER)
        assert (after.epoch, after.excerpts) == (before.epoch, before.excerpts) == (0, ())

    async def test_nothing_of_an_ended_session_comes_back(self, storage: Storage) -> None:
        """P51: not even when its traces go on."""
        await storage.transcripts.record(SESSION, [turn("t1")], NOW, None, receipt())
        await storage.transcripts.end(SESSION, None, NOW, receipt())
        await storage.traces.append(trace("x1"))
        assert (await storage.transcripts.list(SESSION, NOW, ALL)).items == ()
        assert (await storage.transcripts.end(SESSION, None, NOW, receipt())).turns == 0
