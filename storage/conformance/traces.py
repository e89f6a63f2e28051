"""Traces: appended once, chained, never changed, and the turn answered once."""

from dataclasses import replace

from assemblers.records import SessionRef
from storage.conformance.samples import (
    ALL,
    NOW,
    OTHER,
    SESSION,
    USER,
    fact,
    later,
    receipt,
    refused,
    trace,
    turn,
)
from storage.errors import AlreadyExists, NotFound, RequestIdReused
from storage.ledger import GENESIS, verify
from storage.ports import PageRequest, Storage, TraceDraft, TraceSelector


def claimed(trace_id: str, request_id: str, body: bytes) -> TraceDraft:
    """A trace that was asked for under a request id."""
    return replace(trace(trace_id), request_id=request_id, body_sha256=body * 32)


class TraceSuite:
    """Appending, the chain, look-ups, pages, idempotency of turns."""

    async def test_a_trace_is_read_back_as_it_was_given(self, storage: Storage) -> None:
        draft = trace("x1")
        seal = await storage.traces.append(draft)
        stored = await storage.traces.get("acme", "x1")
        names = ("trace_id", "session", "turn_id", "policy", "create_time", "record", "content")
        assert [getattr(stored, name) for name in names] == [getattr(draft, name) for name in names]
        assert stored.seal == seal
        assert (seal.sequence, seal.previous_hash) == (1, GENESIS)

    async def test_an_unknown_trace_is_not_found(self, storage: Storage) -> None:
        with refused(NotFound):
            await storage.traces.get("acme", "x1")
        assert await storage.traces.latest(SESSION) is None
        assert await storage.traces.chain("acme", 0, 10) == ()

    async def test_each_tenant_has_a_chain_that_verifies(self, storage: Storage) -> None:
        foreign = SessionRef("umbrella", "ann", "s1")
        for index in range(20):
            await storage.traces.append(trace(f"x{index}"))
            await storage.traces.append(trace(f"x{index}", foreign))
        for tenant_id in ("acme", "umbrella"):
            chain = await storage.traces.chain(tenant_id, 0, 100)
            assert [stored.seal.sequence for stored in chain] == list(range(1, 21))
            assert verify(chain) is None

    async def test_a_chain_is_read_in_runs(self, storage: Storage) -> None:
        for index in range(5):
            await storage.traces.append(trace(f"x{index}"))
        head = await storage.traces.chain("acme", 0, 2)
        tail = await storage.traces.chain("acme", 2, 10)
        assert verify(head) is None
        assert verify(tail, after=head[-1].seal) is None
        assert [stored.trace_id for stored in (*head, *tail)] == ["x0", "x1", "x2", "x3", "x4"]

    async def test_a_refused_append_leaves_no_gap_in_the_chain(self, storage: Storage) -> None:
        await storage.traces.append(trace("x1"))
        with refused(AlreadyExists) as caught:
            await storage.traces.append(trace("x1", turn_id="another turn"))
        assert caught.error.what == "trace_id"
        with refused(AlreadyExists):
            await storage.traces.append(trace("x2", turn_id="turn-of-x1"))
        await storage.traces.append(trace("x3"))
        chain = await storage.traces.chain("acme", 0, 10)
        assert [stored.trace_id for stored in chain] == ["x1", "x3"]
        assert verify(chain) is None

    async def test_a_turn_is_answered_once_within_a_day(self, storage: Storage) -> None:
        assert await storage.traces.answered(SESSION, "t1", NOW) is None
        await storage.traces.append(trace("x1", turn_id="t1"))
        almost = later(hours=23, minutes=59)
        answered = await storage.traces.answered(SESSION, "t1", almost)
        assert answered is not None
        assert answered.trace_id == "x1"
        assert answered.stands_for(b"b" * 32)
        assert not answered.stands_for(b"c" * 32)
        with refused(AlreadyExists) as caught:
            await storage.traces.append(trace("x2", turn_id="t1", when=almost))
        assert caught.error.what == "turn_id"

    async def test_a_request_id_stands_for_one_body_within_a_day(self, storage: Storage) -> None:
        await storage.traces.append(claimed("x1", "r", b"b"))
        almost = later(hours=23, minutes=59)
        with refused(RequestIdReused):
            await storage.traces.append(replace(claimed("x2", "r", b"c"), create_time=almost))
        assert await storage.traces.answered(SESSION, "turn-of-x2", almost) is None
        await storage.traces.append(replace(claimed("x3", "r", b"c"), create_time=later(hours=24)))
        chain = await storage.traces.chain("acme", 0, 10)
        assert [stored.trace_id for stored in chain] == ["x1", "x3"]

    async def test_a_repeat_of_a_request_is_known_by_its_turn(self, storage: Storage) -> None:
        await storage.traces.append(claimed("x1", "r", b"b"))
        with refused(AlreadyExists) as caught:
            await storage.traces.append(replace(claimed("x2", "r", b"b"), turn_id="turn-of-x1"))
        assert caught.error.what == "turn_id"

    async def test_another_body_under_the_request_id_of_the_turn_is_a_matter_of_the_request_id(
        self, storage: Storage
    ) -> None:
        await storage.traces.append(claimed("x1", "r", b"b"))
        with refused(RequestIdReused):
            await storage.traces.append(replace(claimed("x2", "r", b"c"), turn_id="turn-of-x1"))

    async def test_an_append_that_was_refused_does_not_take_its_request_id(self, storage: Storage) -> None:
        await storage.traces.append(trace("x1"))
        with refused(AlreadyExists):
            await storage.traces.append(replace(claimed("x2", "r", b"b"), turn_id="turn-of-x1"))
        await storage.traces.append(claimed("x3", "r", b"c"))

    async def test_request_ids_of_other_tenants_and_of_other_writes_do_not_matter(
        self, storage: Storage
    ) -> None:
        await storage.facts.record(USER, [fact()], NOW, receipt("r"))
        await storage.traces.append(claimed("x1", "r", b"b"))
        foreign = SessionRef("umbrella", "ann", "s1")
        await storage.traces.append(replace(claimed("x1", "r", b"c"), session=foreign))
        for trace_id in ("x2", "x3"):
            await storage.traces.append(claimed(trace_id, "", trace_id.encode()))

    async def test_after_a_day_a_turn_may_be_answered_again(self, storage: Storage) -> None:
        await storage.traces.append(trace("x1", turn_id="t1"))
        after = later(hours=24)
        assert await storage.traces.answered(SESSION, "t1", after) is None
        await storage.traces.append(trace("x2", turn_id="t1", when=after))
        answered = await storage.traces.answered(SESSION, "t1", after)
        assert answered is not None
        assert answered.trace_id == "x2"

    async def test_the_turn_is_kept_in_the_same_step(self, storage: Storage) -> None:
        await storage.traces.append(trace("x1", turn_id="t1", kept=turn("t1")))
        assert await storage.transcripts.since_last_question(SESSION, NOW) == (turn("t1"),)

    async def test_a_turn_of_other_content_undoes_the_whole_step(self, storage: Storage) -> None:
        await storage.transcripts.record(SESSION, [turn("t1", "recorded before")], NOW, None, receipt())
        with refused(AlreadyExists):
            await storage.traces.append(trace("x1", turn_id="t1", kept=turn("t1", "other")))
        assert await storage.traces.answered(SESSION, "t1", NOW) is None
        with refused(NotFound):
            await storage.traces.get("acme", "x1")

    async def test_a_turn_that_was_recorded_before_is_kept_once(self, storage: Storage) -> None:
        await storage.transcripts.record(SESSION, [turn("t1")], NOW, None, receipt())
        await storage.traces.append(trace("x1", turn_id="t1", kept=turn("t1")))
        assert (await storage.transcripts.list(SESSION, NOW, ALL)).items == (turn("t1"),)

    async def test_latest_is_the_newest_of_the_session(self, storage: Storage) -> None:
        await storage.traces.append(trace("x1"))
        await storage.traces.append(trace("x2"))
        await storage.traces.append(trace("y1", SessionRef("acme", "ann", "s2")))
        latest = await storage.traces.latest(SESSION)
        assert latest is not None
        assert latest.trace_id == "x2"

    async def test_every_selector_narrows_the_list(self, storage: Storage) -> None:
        await storage.traces.append(trace("x1", turn_id="t1"))
        await storage.traces.append(trace("x2", SessionRef("acme", "ann", "s2"), "t1", when=later(hours=1)))
        await storage.traces.append(trace("x3", SessionRef("acme", "bob", "s1"), "t3", when=later(hours=2)))
        expected = [
            (TraceSelector(), ["x3", "x2", "x1"]),
            (TraceSelector(user_id=USER.user_id), ["x2", "x1"]),
            (TraceSelector(user_id=OTHER.user_id, session_id="s1"), ["x3"]),
            (TraceSelector(session_id="s1"), ["x3", "x1"]),
            (TraceSelector(turn_id="t1"), ["x2", "x1"]),
            (TraceSelector(policy="support"), ["x3", "x2", "x1"]),
            (TraceSelector(policy="other"), []),
            (TraceSelector(user_id=""), []),
            (TraceSelector(created_from=later(hours=1)), ["x3", "x2"]),
            (TraceSelector(created_until=later(hours=1)), ["x1"]),
        ]
        for selector, trace_ids in expected:
            found = (await storage.traces.list("acme", selector, ALL)).items
            assert [stored.trace_id for stored in found] == trace_ids, selector

    async def test_the_name_of_a_policy_selects_all_its_revisions_and_no_neighbours(
        self, storage: Storage
    ) -> None:
        names = ("p/desk/revisions/a", "p/desk/revisions/b", "p/desk-2/revisions/a", "p/desk0", "p/des")
        for index, name in enumerate(names):
            await storage.traces.append(replace(trace(f"x{index}", turn_id=f"t{index}"), policy=name))
        for policy, trace_ids in (("p/desk", ["x1", "x0"]), (names[1], ["x1"]), ("p/des", ["x4"])):
            found = (await storage.traces.list("acme", TraceSelector(policy=policy), ALL)).items
            assert [stored.trace_id for stored in found] == trace_ids, policy

    async def test_pages_go_on_where_they_stopped_though_new_traces_come(self, storage: Storage) -> None:
        for index in range(5):
            await storage.traces.append(trace(f"x{index}"))
        first = await storage.traces.list("acme", TraceSelector(), PageRequest(2))
        await storage.traces.append(trace("new"))
        rest = await storage.traces.list("acme", TraceSelector(), PageRequest(9, first.next_cursor))
        assert [stored.trace_id for stored in (*first.items, *rest.items)] == ["x4", "x3", "x2", "x1", "x0"]
