"""What an assembly and a write answer while something behind them is out: the rows of the degradation table."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.usecases.opened_trace import open_stored
from muniment.v1 import context_pb2, fact_pb2, session_pb2, trace_pb2, types_pb2
from storage.errors import StorageFull, StorageUnavailable
from tests.integration.in_process import Gateway
from tests.integration.requests import GOOD, TENANT, fact, facts_request, import_request, past_session
from tests.integration.talk import Person, called, facts, history, prompt_text, returned, slots
from tests.unit.gateway.usecases.production import Production, production


@pytest.fixture
async def prod(tmp_path: Path) -> AsyncIterator[Production]:
    async with production(tmp_path) as opened:
        yield opened


@pytest.fixture
async def warm(prod: Production) -> Production:
    """Ada has a fact, an archived session and a focus, and was answered just now."""
    ada = prod.ada
    await ada.state("note", "moves house")
    await ada.remember("old", "My grinder jams.")
    await ada.record(called("c1", "x"), returned("r1", "x", result='{"id": "s-1", "name": "Hofmann"}'))
    answer = await ada.ask("What about the grinder?", turn_id="warm")
    assert statuses(answer) == {}
    assert ("moves house" in facts(answer), "grinder jams" in history(answer)) == (True, True)
    assert "Hofmann" in slots(answer)
    return prod


def statuses(answer: Any) -> dict[str, str]:
    """What each degraded section is said to be."""
    section, status = types_pb2.SectionKind.Name, types_pb2.SectionStatus.Name
    return {
        section(d.section).removeprefix("SECTION_KIND_"): status(d.status).removeprefix("SECTION_STATUS_")
        for d in answer.degradations
    }


def reported(answer: Any, kind: types_pb2.SectionKind.ValueType) -> str:
    """A section's status in the budget report."""
    (line,) = (line for line in answer.prompt.budget_report.sections if line.section == kind)
    return types_pb2.SectionStatus.Name(line.status).removeprefix("SECTION_STATUS_")


def said(answer: Any) -> set[str]:
    """The warnings by their first words, without those that repeat a degradation."""
    return {w.partition(":")[0] for w in answer.warnings if w.partition(":")[0].islower()}


async def traces(gateway: Gateway) -> list[Any]:
    listed = await gateway.call("ListTraces", trace_pb2.ListTracesRequest(tenant_id=TENANT, user_id="ada"))
    return list(listed.traces)


class TestRedisOut:
    async def test_slots_are_unavailable_and_all_else_is_fresh_from_sql(self, warm: Production):
        warm.redis_out()
        answer = await warm.ada.ask("And the grinder?", turn_id="t")
        assert statuses(answer) == {"SESSION": "UNAVAILABLE"}
        assert reported(answer, types_pb2.SECTION_KIND_SESSION) == "UNAVAILABLE"
        assert "moves house" in facts(answer)
        assert "grinder jams" in history(answer)
        assert "Hofmann" not in prompt_text(answer)
        assert said(answer) == {"slots_not_saved"}

    async def test_a_fact_written_elsewhere_is_seen_since_sql_is_asked(self, warm: Production):
        warm.redis_out()
        await warm.ada.state("note", "has moved")
        assert "has moved" in facts(await warm.ada.ask("What is new?", turn_id="t"))

    async def test_facts_are_written_and_slots_are_not(self, warm: Production):
        warm.redis_out()
        assert await warm.gateway.code("RecordFacts", facts_request(fact())) == "OK"
        refused = await warm.gateway.refusal("UpdateSlots", GOOD["UpdateSlots"])
        assert (refused.code, refused.reason) == ("UNAVAILABLE", "STORAGE_UNAVAILABLE")

    async def test_turns_are_durable_and_it_is_said_that_their_slots_were_not_saved(self, warm: Production):
        warm.redis_out()
        turns = (called("c2", "y"), returned("r2", "y", result='{"id": "s-2", "name": "Berger"}'))
        recorded = await warm.ada.record(*turns)
        assert recorded.recorded_turns == 2
        assert said(recorded) == {"slots_unknown", "slots_not_saved"}
        warm.heal()
        view = await warm.gateway.call(
            "GetSession", session_pb2.GetSessionRequest(session=warm.ada.session())
        )
        assert [turn.turn_id for turn in view.turns][-2:] == ["c2", "r2"]
        assert view.session.slots.focus.label == "Hofmann"

    async def test_turns_that_set_nothing_lose_nothing(self, warm: Production):
        warm.redis_out()
        assert said(await warm.ada.record(called("c2", "y"))) == {"slots_unknown"}

    async def test_a_session_is_not_ended_while_its_slots_cannot_go(self, warm: Production):
        warm.redis_out()
        assert await warm.gateway.code("EndSession", GOOD["EndSession"]) == "UNAVAILABLE"
        warm.heal()
        assert await warm.gateway.code("EndSession", GOOD["EndSession"]) == "OK"

    async def test_the_session_is_there_again_afterwards(self, warm: Production):
        warm.redis_out()
        await warm.ada.ask("Who?", turn_id="t")
        warm.heal()
        answer = await warm.ada.ask("And now?", turn_id="u")
        assert statuses(answer) == {}
        assert "Hofmann" in slots(answer)


@pytest.mark.parametrize("error", [StorageUnavailable, StorageFull])
class TestRedisDoesNotWrite:
    async def test_reads_are_as_ever_and_the_answer_says_that_its_slots_were_not_saved(
        self, warm: Production, error: type[StorageUnavailable] | type[StorageFull]
    ):
        warm.storage.cache.out("put", error=lambda: error("read-only"))
        answer = await warm.ada.ask("And the grinder?", turn_id="t")
        assert statuses(answer) == {}
        assert "Hofmann" in slots(answer)
        assert said(answer) == {"slots_not_saved"}

    async def test_slots_are_refused_and_turns_are_kept(
        self, warm: Production, error: type[StorageUnavailable] | type[StorageFull]
    ):
        warm.storage.cache.out("put", error=lambda: error("read-only"))
        assert (await warm.gateway.refusal("UpdateSlots", GOOD["UpdateSlots"])).code == "UNAVAILABLE"
        recorded = await warm.ada.record(called("c2", "y"), returned("r2", "y", result='{"id": "s-2"}'))
        assert (recorded.recorded_turns, said(recorded)) == (2, {"slots_not_saved"})


async def test_a_put_that_was_done_and_reported_as_late_neither_fails_the_call_nor_is_done_twice(
    warm: Production,
):
    warm.storage.cache.late("put")
    await warm.ada.ask("Who is it?", turn_id="t")
    warm.heal()
    answer = await warm.ada.ask("And now?", turn_id="u")
    assert [q.text for q in answer.slots.recent_questions].count("Who is it?") == 1


async def test_slots_older_than_what_was_stored_are_called_stale(warm: Production):
    session, now = warm.ada.session(), warm.gateway.now
    cache = warm.storage.port.sessions
    ref = _ref(session)
    before = await cache.get(ref, now)
    assert before is not None
    await warm.ada.ask("Who?", turn_id="t")
    # A replica that had not got the last write took over.
    await cache.drop(ref)
    for revision in range(before.revision):
        await cache.put(ref, before.slots, revision, now, 3600)
    answer = await warm.ada.ask("And now?", turn_id="u")
    assert statuses(answer) == {"SESSION": "STALE"}
    assert reported(answer, types_pb2.SECTION_KIND_SESSION) == "STALE"
    assert "Hofmann" in slots(answer)
    assert statuses(await warm.ada.ask("And again?", turn_id="v")) == {}


class TestSqlOut:
    async def test_facts_that_redis_still_confirms_are_shown_as_stale_and_the_trace_is_spooled(
        self, warm: Production
    ):
        warm.sql_out()
        answer = await warm.ada.ask("And the grinder?", turn_id="t")
        assert statuses(answer) == {"FACTS": "STALE", "HISTORY": "STALE"}
        assert reported(answer, types_pb2.SECTION_KIND_FACTS) == "STALE"
        assert "moves house" in facts(answer)
        assert "Hofmann" in slots(answer)
        assert said(answer) == {"trace_not_durable"}
        assert warm.spool.depth == 1

    async def test_the_spooled_trace_is_chained_once_sql_is_back(self, warm: Production):
        warm.sql_out()
        answer = await warm.ada.ask("And the grinder?", turn_id="t")
        warm.heal()
        assert (await warm.drains.drain()).stored == 1
        trace = await warm.ada.trace(answer)
        assert trace.turn_id == "t"
        assert [d.status for d in trace.degradations] == [types_pb2.SECTION_STATUS_STALE] * 2
        chain = await warm.storage.port.traces.chain(TENANT, 0, 10)
        assert [stored.turn_id for stored in chain] == ["warm", "t"]
        fresh = await warm.ada.ask("And now?", turn_id="u")
        assert (statuses(fresh), said(fresh)) == ({}, set())

    async def test_what_nobody_has_in_memory_is_unavailable(self, warm: Production):
        bob = Person(warm.gateway, "bob")
        await bob.state("note", "likes tea")
        await bob.ask("Hello?", turn_id="t")
        warm.storage.port.facts.forget(_ref(bob.session()).user)
        warm.sql_out()
        answer = await bob.ask("What is new?", turn_id="u")
        assert statuses(answer)["FACTS"] == "UNAVAILABLE"
        assert facts(answer) == ""

    async def test_a_change_that_was_announced_is_never_shown_as_it_was(self, warm: Production):
        warm.sql_out()
        user = _ref(warm.ada.session()).user
        await warm.shared.announce_user(user, 1_000, None)
        answer = await warm.ada.ask("What is new?", turn_id="t")
        assert statuses(answer) == {"FACTS": "UNAVAILABLE", "HISTORY": "STALE"}
        assert "moves house" not in prompt_text(answer)

    @pytest.mark.parametrize(
        "method", ["RecordFacts", "InvalidateFacts", "ImportHistory", "RecordTurns", "RegisterPrefixRevision"]
    )
    async def test_writes_are_refused_with_a_delay_and_never_acknowledged(
        self, warm: Production, method: str
    ):
        warm.sql_out()
        refused = await warm.gateway.refusal(method, GOOD[method])
        assert (refused.code, refused.reason) == ("UNAVAILABLE", "STORAGE_UNAVAILABLE")
        assert any(detail.type_url.endswith("RetryInfo") for detail in refused.status.details)

    async def test_a_search_is_refused_since_it_could_not_say_that_it_is_stale(self, warm: Production):
        warm.sql_out()
        assert await warm.gateway.code("SearchHistory", GOOD["SearchHistory"]) == "UNAVAILABLE"

    async def test_a_stranger_gets_a_pseudonym_for_the_time_being(self, warm: Production):
        warm.sql_out()
        eve = Person(warm.gateway, "eve")
        answers = [await eve.ask("Hello?", turn_id=f"t{number}") for number in range(2)]
        assert [set(statuses(answer).values()) for answer in answers] == [{"DENIED"}] * 2
        warm.heal()
        await warm.drains.drain()
        answers.append(await eve.ask("And now?", turn_id="u"))
        marks = [await _mark(warm, answer) for answer in answers]
        # The marks in the chain are made with the pseudonym.
        assert marks[0] == marks[1] != marks[2]

    async def test_a_repeat_of_a_spooled_turn_gets_the_same_answer_and_another_body_is_refused(
        self, warm: Production
    ):
        warm.sql_out()
        first = await warm.ada.ask("And the grinder?", turn_id="t")
        assert await warm.ada.ask("And the grinder?", turn_id="t") == first
        assert warm.spool.depth == 1
        refused = await warm.gateway.refusal("AssembleContext", warm.ada.request("Another?", turn_id="t"))
        assert refused.reason == "TURN_ID_REUSED"

    async def test_a_policy_that_was_used_before_stays_in_force_and_one_that_never_was_is_unavailable(
        self, warm: Production
    ):
        warm.sql_out()
        answer = await warm.ada.ask("What is new?", turn_id="t")
        assert "/policies/desk/" in answer.policy_revision
        stranger = Person(warm.gateway, tenant_id="another")
        assert await warm.gateway.code("AssembleContext", stranger.request("Hello?")) == "UNAVAILABLE"

    async def test_a_policy_that_was_changed_elsewhere_meanwhile_is_said_to_be_the_one_used_last(
        self, warm: Production
    ):
        warm.sql_out()
        await warm.shared.announce_tenant(TENANT, 1_000)
        answer = await warm.ada.ask("What is new?", turn_id="t")
        assert "/policies/desk/" in answer.policy_revision
        assert said(answer) == {"trace_not_durable", "policy_as_it_was"}

    async def test_a_wrong_request_is_told_as_such(self, warm: Production):
        warm.sql_out()
        request = warm.ada.request("  ", turn_id="t")
        assert (await warm.gateway.refusal("AssembleContext", request)).code == "INVALID_ARGUMENT"

    async def test_an_explanation_answers_without_the_times_that_only_sql_knows(self, warm: Production):
        warm.sql_out()
        request = context_pb2.ExplainContextRequest(request=warm.ada.request("What is new?", turn_id="t"))
        answer = await warm.gateway.call("ExplainContext", request)
        assert statuses(answer) == {"FACTS": "STALE", "HISTORY": "STALE"}
        assert {candidate.item_id for candidate in answer.trace.candidates} >= {"fact/1"}

    async def test_a_dry_run_answers_and_spools_nothing(self, warm: Production):
        warm.sql_out()
        answer = await warm.ada.ask("What is new?", turn_id="t", validate_only=True)
        assert statuses(answer) == {"FACTS": "STALE", "HISTORY": "STALE"}
        assert warm.spool.depth == 0


class TestTheLedgerOut:
    @pytest.mark.parametrize("error", [StorageUnavailable, StorageFull])
    async def test_the_trace_goes_to_the_spool_and_everything_else_is_fresh(
        self, warm: Production, error: type[StorageUnavailable] | type[StorageFull]
    ):
        warm.storage.sql.out("append", error=lambda: error("full"))
        answer = await warm.ada.ask("And the grinder?", turn_id="t")
        assert (statuses(answer), said(answer)) == ({}, {"trace_not_durable"})
        warm.heal()
        await warm.drains.drain()
        assert [trace.turn_id for trace in await traces(warm.gateway)] == ["t", "warm"]

    async def test_an_append_that_was_done_and_reported_as_late_is_one_trace(self, warm: Production):
        warm.storage.sql.late("append")
        answer = await warm.ada.ask("And the grinder?", turn_id="t")
        assert said(answer) == {"trace_not_durable"}
        warm.heal()
        done = await warm.drains.drain()
        assert (done.stored, done.refused) == (1, 0)

    async def test_with_a_full_spool_too_no_answer_leaves(self, tmp_path: Path):
        async with production(tmp_path, spool_bytes=40 << 10) as prod:
            prod.storage.sql.out("append")
            codes = [
                await prod.gateway.code("AssembleContext", prod.ada.request("Hello?", turn_id=f"t{number}"))
                for number in range(12)
            ]
            kept = codes.count("OK")
            assert not prod.spool.has_room
            assert codes == ["OK"] * kept + ["UNAVAILABLE"] * (12 - kept)
            assert 0 < kept == prod.spool.depth < 12
            prod.storage.sql.heal()
            await prod.drains.drain()
            answer = await prod.ada.ask("Hello?", turn_id="u")
            assert said(answer) == set()

    async def test_the_gateway_is_ready_as_long_as_it_can_keep_traces(self, warm: Production):
        warm.sql_out()
        assert await warm.backends.ready()
        without_room = replace(warm.backends, spool=None)
        assert not await without_room.ready()
        warm.heal()
        assert await without_room.ready()

    async def test_after_several_failures_the_ledger_is_asked_by_one_call_a_second(self, warm: Production):
        warm.storage.sql.out("append")
        for number in range(12):
            await warm.ada.ask("Hello?", turn_id=f"t{number}")
        appends = warm.storage.sql.calls.count("append") - 1
        assert 5 <= appends <= 7
        assert warm.spool.depth == 12


class TestNobodyCanSay:
    async def test_every_personal_section_is_denied_and_prefix_and_question_are_there(self, warm: Production):
        warm.redis_out()
        warm.sql_out()
        answer = await warm.ada.ask("And the grinder?", turn_id="t")
        assert statuses(answer) == {"FACTS": "DENIED", "HISTORY": "DENIED", "SESSION": "DENIED"}
        assert reported(answer, types_pb2.SECTION_KIND_FACTS) == "DENIED"
        assert reported(answer, types_pb2.SECTION_KIND_SESSION) == "DENIED"
        text = prompt_text(answer)
        assert "You help." in text
        assert "And the grinder?" in text
        assert not [word for word in ("moves house", "jams", "Hofmann") if word in text]
        assert said(answer) == {"trace_not_durable", "slots_not_saved"}

    async def test_slots_are_left_out_although_their_cache_answers(self, warm: Production):
        warm.shared.is_down = True
        warm.sql_out()
        before = warm.storage.cache.calls.count("put")
        answer = await warm.ada.ask("And the grinder?", turn_id="t")
        assert statuses(answer)["SESSION"] == "DENIED"
        assert "Hofmann" not in prompt_text(answer)
        assert warm.storage.cache.calls.count("put") == before

    async def test_what_this_process_confirmed_within_the_second_still_counts(self, warm: Production):
        warm.shared.is_down = True
        warm.storage.sql.out()
        answer = await warm.ada.ask("And the grinder?", turn_id="t")
        assert statuses(answer) == {}
        assert "moves house" in facts(answer)

    async def test_nothing_of_it_is_left_once_the_stores_are_back(self, warm: Production):
        warm.redis_out()
        warm.sql_out()
        await warm.ada.ask("And the grinder?", turn_id="t")
        warm.heal()
        answer = await warm.ada.ask("And now the grinder?", turn_id="u")
        assert (statuses(answer), said(answer)) == ({}, set())
        assert "Hofmann" in slots(answer)


async def test_no_fault_of_any_method_of_any_store_gives_unknown_or_internal(warm: Production):
    """Every method that assembling and recording use fails once, is late once, and reports a full disk once."""
    sql = (
        "load",
        "append",
        "answered",
        "pseudonym",
        "read",
        "active",
        "find",
        "observations",
        "record",
        "list",
    )
    for name in sql:
        for fault in (
            lambda name=name: warm.storage.sql.out(name),
            lambda name=name: warm.storage.sql.out(name, error=lambda: StorageFull("full")),
            lambda name=name: warm.storage.sql.late(name),
        ):
            fault()
            warm.pass_seconds(1)
            warm.storage.port.facts.forget(_ref(warm.ada.session()).user)
            await warm.shared.announce_tenant(TENANT, 10_000 + warm.shared.now)
            codes = {
                await warm.gateway.code("AssembleContext", warm.ada.request("Hello?")),
                await warm.gateway.code("RecordFacts", facts_request(fact())),
                await warm.gateway.code("ListFacts", fact_pb2.ListFactsRequest(user=warm.ada.user)),
                await warm.gateway.code("RecordTurns", GOOD["RecordTurns"]),
                await warm.gateway.code("ImportHistory", import_request(past_session("x", "tea"))),
            }
            assert codes <= {"OK", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "ALREADY_EXISTS"}, name
            warm.heal()


async def _mark(prod: Production, answer: Any) -> str:
    """What stands for the user in the chained record of an answer."""
    stored = await prod.storage.port.traces.get(TENANT, answer.trace.rpartition("/")[2])
    return open_stored(stored).record.user


def _ref(session: types_pb2.SessionRef) -> Any:
    from gateway.convert.types import session_of

    return session_of(session)
