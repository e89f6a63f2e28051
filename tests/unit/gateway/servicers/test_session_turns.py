"""SessionService: turns are stored before they are acknowledged, and results set slots."""

import asyncio
from datetime import UTC, timedelta
from typing import Any

import pytest

from assemblers.records import SessionRef
from gateway.errors import Outcome, Reason
from muniment.v1 import types_pb2
from storage.ports import Storage, TraceDraft
from tests.unit.gateway.servicers.session_messages import (
    HERE,
    NORTHWIND,
    NOW,
    S,
    T,
    answered,
    batch,
    called,
    look,
    said,
    update,
    uuid,
)

TRACE_ID = "0f" * 16
TRACE = f"tenants/acme/traces/{TRACE_ID}"


@pytest.fixture
def rpc(session_rpc: Any) -> Any:
    return session_rpc


@pytest.fixture
async def trace(storage: Storage) -> str:
    session = SessionRef("acme", "ann", "s/1")
    await storage.traces.append(TraceDraft(TRACE_ID, session, "t1", "plain", NOW, b"r", b"c", b"b" * 32))
    return TRACE


async def test_turns_come_back_in_order_with_their_json_made_canonical(rpc: Any):
    arguments = '{ "b": 1.0, "a": [1, 10000000000000000000000.5e0, "é"] }'
    done = await rpc("RecordTurns", batch(said("t1", "Hi"), called("t2", "c1", arguments=arguments)))
    assert (done.recorded_turns, done.duplicate_turns) == (2, 0)
    first, second = (await look(rpc)).turns
    assert (first.turn_id, first.contents[0].text, first.occur_time.ToDatetime(UTC)) == ("t1", "Hi", NOW)
    assert second.contents[0].tool_call.arguments_json == '{"a":[1,1e+22,"é"],"b":1}'


async def test_a_result_of_a_bound_tool_sets_the_slots(rpc: Any):
    await rpc("RecordTurns", batch(said("t1", "?"), called("t2", "c1", arguments='{"period": "Q3"}')))
    slots = (await rpc("RecordTurns", batch(answered("t3", "c1", NORTHWIND)))).slots
    assert (slots.focus.type, slots.focus.id, slots.focus.label) == ("customer", "c-7", "Northwind")
    assert (slots.focus.set_by, slots.focus.turn_id) == ("tool/crm", "t3")
    assert slots.focus.certainty == T.CERTAINTY_CONFIRMED
    assert [(f.key, f.value) for f in slots.filters] == [("period", "Q3")]
    assert (await look(rpc)).session.slots == slots


async def test_a_failed_call_sets_nothing(rpc: Any):
    done = await rpc("RecordTurns", batch(called("t2", "c1"), answered("t3", "c1", NORTHWIND, is_error=True)))
    assert done.slots == T.Slots()
    assert (await look(rpc)).session.etag == ""


async def test_a_result_may_answer_a_call_from_before_the_last_question(rpc: Any):
    await rpc("RecordTurns", batch(called("t1", "c1"), said("t2", "meanwhile?")))
    assert (await rpc("RecordTurns", batch(answered("t3", "c1", NORTHWIND)))).slots.focus.id == "c-7"


async def test_a_result_without_a_call_is_refused_whole_with_its_place(rpc: Any):
    failure = await rpc.failure(
        "RecordTurns", batch(said("t1", "x"), called("t2", "c1"), answered("t3", "c9", NORTHWIND))
    )
    assert (failure.outcome, failure.reason) == (Outcome.FAILED_PRECONDITION, Reason.TOOL_CALL_UNKNOWN)
    assert failure.metadata == {
        "field": "turns[2].contents[0].tool_result.call_id",
        "call_id": "c9",
    }
    assert "record the assistant's turn" in failure.message
    assert not (await look(rpc)).turns


async def test_another_sessions_calls_do_not_count(rpc: Any):
    await rpc("RecordTurns", batch(called("t1", "c1")))
    other = T.SessionRef(tenant_id="acme", user_id="bob", session_id="s/1")
    failure = await rpc.failure("RecordTurns", batch(answered("t2", "c1", NORTHWIND), session=other))
    assert failure.reason is Reason.TOOL_CALL_UNKNOWN


async def test_known_turns_are_skipped_and_set_no_slot_again(rpc: Any):
    turns = batch(called("t1", "c1"), answered("t2", "c1", NORTHWIND))
    await rpc("RecordTurns", turns)
    await rpc("UpdateSlots", update(["focus"]))
    again = await rpc("RecordTurns", turns)
    assert (again.recorded_turns, again.duplicate_turns) == (0, 2)
    assert not again.slots.HasField("focus")
    assert not (await look(rpc)).session.slots.HasField("focus")


async def test_a_known_turn_id_with_other_content_is_refused_and_nothing_is_stored(rpc: Any):
    await rpc("RecordTurns", batch(said("t1", "one")))
    failure = await rpc.failure("RecordTurns", batch(said("t2", "new"), said("t1", "two")))
    assert (failure.outcome, failure.reason) == (Outcome.ALREADY_EXISTS, Reason.TURN_ID_REUSED)
    assert [t.turn_id for t in (await look(rpc)).turns] == ["t1"]


async def test_a_repeat_gets_the_first_answer_although_the_slots_moved_on(rpc: Any):
    request = batch(called("t1", "c1"), answered("t2", "c1", NORTHWIND), request_id=uuid(1))
    first = await rpc.raw("RecordTurns", request)
    await rpc("UpdateSlots", update(["focus"]))
    assert await rpc.raw("RecordTurns", request) == first
    assert not (await look(rpc)).session.slots.HasField("focus")
    request.turns[0].turn_id = "t7"
    assert (await rpc.failure("RecordTurns", request)).reason is Reason.REQUEST_ID_REUSED


@pytest.mark.parametrize(
    ("turn", "field", "remedy"),
    [
        (said("t", "x", T.ROLE_SYSTEM), "turns[0].role", "register fixed instructions as a prefix"),
        (said("t", "x", T.ROLE_DEVELOPER), "turns[0].role", "record USER, ASSISTANT and TOOL"),
        (said("t", "x", T.ROLE_TOOL), "turns[0].contents[0]", "TOOL holds tool results only"),
        (
            T.Turn(turn_id="t", role=T.ROLE_USER, contents=called("t", "c").contents),
            "turns[0].contents[0]",
            "USER holds texts only",
        ),
        (
            T.Turn(turn_id="t", role=T.ROLE_ASSISTANT, contents=answered("t", "c", "1").contents),
            "turns[0].contents[0]",
            "ASSISTANT holds texts and tool calls only",
        ),
        (called("t", "c", arguments="[1]"), "turns[0].contents[0].tool_call.arguments_json", "object"),
        (
            called("t", "c", arguments='{"a":1,"a":2}'),
            "turns[0].contents[0].tool_call.arguments_json",
            "twice",
        ),
        (answered("t", "c", "{"), "turns[0].contents[0].tool_result.result_json", "is not valid JSON"),
        (answered("t", "c", "NaN"), "turns[0].contents[0].tool_result.result_json", "NaN"),
    ],
)
async def test_a_turn_that_does_not_fit_its_role_is_refused_with_its_place(
    rpc: Any, turn: types_pb2.Turn, field: str, remedy: str
):
    failure = await rpc.failure("RecordTurns", batch(turn))
    assert failure.outcome is Outcome.INVALID_ARGUMENT
    assert failure.metadata["field"] == field
    assert remedy in failure.message


async def test_a_turn_of_64_kib_is_kept_and_one_byte_more_is_refused_with_the_figures(rpc: Any):
    halves = [T.Content(text="é" * 16_384), T.Content(text="x" * 32_768)]
    fits = T.Turn(turn_id="t", role=T.ROLE_USER, contents=halves)
    assert (await rpc("RecordTurns", batch(fits))).recorded_turns == 1
    halves.append(T.Content(text="y"))
    failure = await rpc.failure("RecordTurns", batch(T.Turn(turn_id="u", role=T.ROLE_USER, contents=halves)))
    assert failure.reason is Reason.TOO_LARGE
    assert failure.metadata == {"field": "turns[0]", "limit_bytes": "65536", "actual_bytes": "65537"}


async def test_turns_are_forgotten_with_the_slots_where_the_policy_keeps_none(rpc: Any):
    await rpc("RecordTurns", batch(said("t1", "x"), policy="plain"))
    rpc.now = NOW + timedelta(minutes=59)
    assert len((await look(rpc)).turns) == 1
    rpc.now = NOW + timedelta(hours=1)
    assert not (await look(rpc)).turns


async def test_turns_outlive_the_slots_where_the_policy_keeps_them(rpc: Any):
    await rpc("RecordTurns", batch(called("t1", "c1"), answered("t2", "c1", NORTHWIND)))
    rpc.now = NOW + timedelta(days=30)
    seen = await look(rpc)
    assert len(seen.turns) == 2
    assert seen.session == S.Session(session=HERE, slots=T.Slots())


async def test_the_policy_of_the_trace_applies_where_none_is_named(rpc: Any, trace: str):
    await rpc("RecordTurns", batch(said("t1", "x"), trace=trace))
    rpc.now = NOW + timedelta(hours=1)
    assert not (await look(rpc)).turns
    await rpc("RecordTurns", batch(said("t2", "x"), trace=trace, policy="memory"))
    rpc.now = NOW + timedelta(days=1)
    assert [t.turn_id for t in (await look(rpc)).turns] == ["t2"]


@pytest.mark.parametrize(
    ("name", "user"),
    [(TRACE, "bob"), ("tenants/acme/traces/" + "1" * 32, "ann"), (f"tenants/other/traces/{TRACE_ID}", "ann")],
)
async def test_a_foreign_or_unknown_trace_is_not_found(rpc: Any, trace: str, name: str, user: str):
    session = T.SessionRef(tenant_id="acme", user_id=user, session_id="s/1")
    failure = await rpc.failure("RecordTurns", batch(said("t1", "x"), session=session, trace=name))
    assert (failure.outcome, failure.message) == (Outcome.NOT_FOUND, failure.text)
    assert not (await look(rpc, session)).turns


async def test_a_trace_name_of_another_form_is_refused(rpc: Any):
    failure = await rpc.failure("RecordTurns", batch(said("t1", "x"), trace="nonsense"))
    assert failure.metadata["field"] == "trace"
    assert "tenants/{t}/traces/{id}" in failure.message


async def test_an_unknown_session_is_a_new_one_and_looking_creates_nothing(rpc: Any):
    unknown = T.SessionRef(tenant_id="acme", user_id="nobody", session_id="x")
    seen = await look(rpc, unknown)
    assert seen == S.GetSessionResponse(session=S.Session(session=unknown, slots=T.Slots()))


async def test_a_session_pages_through_its_turns_with_tokens_of_its_own(rpc: Any):
    await rpc("RecordTurns", batch(*(said(f"t{i}", "x") for i in range(5))))
    first = await look(rpc, page_size=2)
    second = await look(rpc, page_size=2, page_token=first.next_page_token)
    last = await look(rpc, page_size=2, page_token=second.next_page_token)
    ids = [t.turn_id for page in (first, second, last) for t in page.turns]
    assert (ids, last.next_page_token) == (["t0", "t1", "t2", "t3", "t4"], "")
    other = T.SessionRef(tenant_id="acme", user_id="ann", session_id="s/2")
    request = S.GetSessionRequest(session=other, page_token=first.next_page_token)
    assert (await rpc.failure("GetSession", request)).reason is Reason.PAGE_TOKEN_INVALID


async def test_a_page_of_long_turns_ends_at_a_mebibyte_and_goes_on_without_a_gap(rpc: Any):
    for number in range(20):
        await rpc("RecordTurns", batch(said(f"t{number}", "x" * 65_000)))
    first = await look(rpc)
    second = await look(rpc, page_token=first.next_page_token)
    assert (len(first.turns), len(second.turns), second.next_page_token) == (16, 4, "")
    assert [t.turn_id for page in (first, second) for t in page.turns] == [f"t{n}" for n in range(20)]


async def test_ids_that_look_joined_are_sessions_of_their_own(rpc: Any):
    one = T.SessionRef(tenant_id="acme", user_id="a:b", session_id="c")
    two = T.SessionRef(tenant_id="acme", user_id="a", session_id="b:c")
    await rpc("RecordTurns", batch(said("t1", "x"), session=one))
    assert not (await look(rpc, two)).turns


async def test_concurrent_results_lose_no_turn_and_mix_no_slots(rpc: Any):
    await rpc("RecordTurns", batch(*(called(f"a{i}", f"c{i}") for i in range(8))))
    results = [batch(answered(f"r{i}", f"c{i}", f'{{"id": "id-{i}", "name": "name-{i}"}}')) for i in range(8)]
    await asyncio.gather(*(rpc("RecordTurns", result) for result in results))
    seen = await look(rpc)
    assert len(seen.turns) == 16
    assert seen.session.slots.focus.id[3:] == seen.session.slots.focus.label[5:]
    assert seen.session.slots.focus.turn_id == "r" + seen.session.slots.focus.id[3:]
