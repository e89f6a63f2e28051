"""Many at once: nothing lost, nothing mixed, and a caller that goes away harms nobody."""

import asyncio

from assemblers.records import FactState, SessionRef, UserRef
from storage.conformance.samples import (
    ALL,
    NOW,
    SESSION,
    USER,
    archived,
    fact,
    later,
    receipt,
    trace,
    turn,
)
from storage.errors import NotFound
from storage.ledger import verify
from storage.ports import FactSelector, Storage

WRITERS = 50


class ConcurrencySuite:
    """Fifty writers on one thing, readers beside writers, cancelled callers."""

    async def test_fifty_writers_of_one_fact_leave_one_current_and_lose_none(self, storage: Storage) -> None:
        drafts = [fact("k", index, later(seconds=index % 10)) for index in range(WRITERS)]
        await asyncio.gather(*(storage.facts.record(USER, [draft], NOW, receipt()) for draft in drafts))
        facts = (await storage.facts.list(USER, FactSelector(include_retired=True), ALL)).items
        assert sorted(str(item.value) for item in facts) == sorted(map(str, range(WRITERS)))
        assert [item.no for item in facts] == list(range(1, WRITERS + 1))
        (current,) = [item for item in facts if item.state is FactState.CURRENT]
        assert current == max(facts, key=lambda item: (item.read_time, item.revision))

    async def test_fifty_writers_of_one_session_lose_no_turn(self, storage: Storage) -> None:
        turns = [turn(f"t{index}") for index in range(WRITERS)]
        await asyncio.gather(
            *(storage.transcripts.record(SESSION, [item], NOW, None, receipt()) for item in turns)
        )
        stored = (await storage.transcripts.list(SESSION, NOW, ALL)).items
        assert sorted(item.turn_id for item in stored) == sorted(item.turn_id for item in turns)

    async def test_fifty_appends_make_one_chain(self, storage: Storage) -> None:
        seals = await asyncio.gather(*(storage.traces.append(trace(f"x{index}")) for index in range(WRITERS)))
        assert sorted(seal.sequence for seal in seals) == list(range(1, WRITERS + 1))
        chain = await storage.traces.chain("acme", 0, 100)
        assert verify(chain) is None
        by_id = {stored.trace_id: stored.seal for stored in chain}
        assert [by_id[f"x{index}"] for index in range(WRITERS)] == seals

    async def test_of_fifty_answers_to_one_turn_one_is_kept(self, storage: Storage) -> None:
        appends = [storage.traces.append(trace(f"x{index}", turn_id="t")) for index in range(WRITERS)]
        results = await asyncio.gather(*appends, return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == ["AlreadyExists"] * (WRITERS - 1) + [
            "Seal"
        ]
        assert verify(await storage.traces.chain("acme", 0, 100)) is None

    async def test_a_failing_write_does_not_harm_those_beside_it(self, storage: Storage) -> None:
        good = [storage.facts.record(USER, [fact(f"k{index}")], NOW, receipt()) for index in range(10)]
        bad = [storage.facts.delete(USER, 999, "", NOW, receipt()) for _ in range(10)]
        results = await asyncio.gather(
            *(step for pair in zip(good, bad, strict=True) for step in pair), return_exceptions=True
        )
        assert all(isinstance(result, NotFound) for result in results[1::2])
        assert len((await storage.facts.load(USER)).facts) == 10

    async def test_each_caller_gets_its_own_result(self, storage: Storage) -> None:
        users = [UserRef("acme", f"u{index}") for index in range(WRITERS)]
        steps = [storage.facts.record(user, [fact("k", user.user_id)], NOW, receipt()) for user in users]
        for user, (written,) in zip(users, await asyncio.gather(*steps), strict=True):
            assert (written.fact.user, written.fact.value) == (user, user.user_id)
        snapshots = await asyncio.gather(*(storage.facts.load(user) for user in users))
        assert [snapshot.facts[0].value for snapshot in snapshots] == [user.user_id for user in users]

    async def test_users_created_at_once_have_one_pseudonym_each(self, storage: Storage) -> None:
        names = await asyncio.gather(*(storage.users.pseudonym(USER) for _ in range(WRITERS)))
        assert len(set(names)) == 1

    async def test_a_cancelled_write_is_whole_or_absent_and_never_anothers_result(
        self, storage: Storage
    ) -> None:
        """S1."""
        for index in range(WRITERS):
            session = SessionRef("acme", f"u{index}", "s")
            append = asyncio.ensure_future(storage.traces.append(trace(f"x{index}", session, "t", turn("t"))))
            for _ in range(index % 4):
                await asyncio.sleep(0)
            append.cancel()
            seal = await storage.traces.append(trace(f"y{index}", session))
            assert (await storage.traces.get("acme", f"y{index}")).seal == seal
            answered = await storage.traces.answered(session, "t", NOW)
            turns = await storage.transcripts.since_last_question(session, NOW)
            assert (answered is not None) == (len(turns) == 1)
        assert verify(await storage.traces.chain("acme", 0, 1_000)) is None

    async def test_a_cancelled_load_leaves_the_others_waiting_for_theirs(self, storage: Storage) -> None:
        await storage.facts.record(USER, [fact(f"k{index}", index) for index in range(600)], NOW, receipt())
        loads = [asyncio.ensure_future(storage.facts.load(USER)) for _ in range(10)]
        await asyncio.sleep(0)
        loads[0].cancel()
        snapshots = await asyncio.gather(*loads[1:])
        assert {len(snapshot.facts) for snapshot in snapshots} == {600}

    async def test_a_read_after_an_acknowledged_write_sees_it_though_a_load_was_under_way(
        self, storage: Storage
    ) -> None:
        """P67: what a load began before a write brings is never kept."""
        await storage.facts.record(USER, [fact(f"k{index}", index) for index in range(300)], NOW, receipt())
        for number in range(300, 340):
            load = asyncio.ensure_future(storage.facts.load(USER))
            for _ in range(number % 3):
                await asyncio.sleep(0)
            await storage.facts.record(USER, [fact(f"k{number}", number)], NOW, receipt())
            assert len((await storage.facts.load(USER)).facts) == number + 1
            await load
            assert len((await storage.facts.load(USER)).facts) == number + 1

    async def test_an_archive_grows_under_its_readers(self, storage: Storage) -> None:
        async def read() -> None:
            for _ in range(20):
                snapshot = await storage.archives.load(USER)
                assert len(snapshot.excerpts) == len(snapshot.archive)
                await asyncio.sleep(0)

        async def write() -> None:
            for index in range(20):
                await storage.archives.append(USER, [archived(f"s{index}", "a", "b")], NOW, receipt())
                assert len((await storage.archives.load(USER)).excerpts) == 2 * (index + 1)

        await asyncio.gather(write(), read(), read())

    async def test_a_deleted_fact_does_not_come_back_with_writes_that_were_queued(
        self, storage: Storage
    ) -> None:
        """P51."""
        await storage.facts.record(USER, [fact("k", "secret")], NOW, receipt())
        queued = [storage.facts.record(USER, [fact(f"o{index}")], NOW, receipt()) for index in range(10)]
        await asyncio.gather(
            *queued, storage.facts.delete(USER, 1, "", NOW, receipt()), storage.facts.load(USER)
        )
        assert "secret" not in [item.value for item in (await storage.facts.load(USER)).facts]
        assert (await storage.facts.get(USER, 1)).state is FactState.DELETED
