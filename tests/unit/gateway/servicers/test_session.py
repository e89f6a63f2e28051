"""SessionService: turns that last, slots that nobody loses, endings that archive."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from assemblers.policy.model import ArchiveRules
from assemblers.records import SessionRef, UserRef
from gateway.errors import GatewayError, Outcome, Reason
from gateway.servicers.session import SessionServicer
from gateway.usecases.recording import TurnRecorder
from gateway.usecases.sessions import Sessions
from gateway.usecases.slot_book import SlotBook
from muniment.v1 import session_pb2, types_pb2
from storage.ports import Storage, TraceDraft

S = session_pb2
T = types_pb2
NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)
HERE = T.SessionRef(tenant_id="acme", user_id="ann", session_id="s/1")
TRACE_ID = "0f" * 16
TRACE = f"tenants/acme/traces/{TRACE_ID}"


def uuid(number: int) -> str:
    return str(UUID(int=number, version=4))


def stamp(instant: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(instant)
    return message


def said(turn_id: str, text: str, role: Any = T.ROLE_USER, **fields: Any) -> types_pb2.Turn:
    return T.Turn(turn_id=turn_id, role=role, contents=[T.Content(text=text)], **fields)


def called(turn_id: str, *call_ids: str, arguments: str = "{}", tool: str = "crm") -> types_pb2.Turn:
    calls = [T.ToolCall(call_id=c, tool_name=tool, arguments_json=arguments) for c in call_ids]
    return T.Turn(
        turn_id=turn_id, role=T.ROLE_ASSISTANT, contents=[T.Content(tool_call=call) for call in calls]
    )


def answered(turn_id: str, call_id: str, result: str, is_error: bool = False) -> types_pb2.Turn:
    tool_result = T.ToolResult(call_id=call_id, tool_name="crm", is_error=is_error, result_json=result)
    return T.Turn(turn_id=turn_id, role=T.ROLE_TOOL, contents=[T.Content(tool_result=tool_result)])


def batch(*turns: types_pb2.Turn, session: types_pb2.SessionRef = HERE, **fields: Any) -> Any:
    return S.RecordTurnsRequest(session=session, turns=turns, **fields)


NORTHWIND = '{"id": "c-7", "name": "Northwind"}'


@pytest.fixture
def rpc(storage: Storage, catalog: Any, make_rpc: Any) -> Any:
    recorder = TurnRecorder(storage.transcripts, storage.traces, SlotBook(storage.sessions), catalog)
    sessions = Sessions(storage.transcripts, storage.archives, storage.sessions, catalog)
    servicer = SessionServicer(recorder, sessions)
    return make_rpc(session_pb2.DESCRIPTOR.services_by_name["SessionService"], servicer)


@pytest.fixture
async def trace(storage: Storage) -> str:
    session = SessionRef("acme", "ann", "s/1")
    await storage.traces.append(TraceDraft(TRACE_ID, session, "t1", "plain", NOW, b"r", b"c", b"b" * 32))
    return TRACE


async def look(rpc: Any, session: types_pb2.SessionRef = HERE, **fields: Any) -> Any:
    return await rpc("GetSession", S.GetSessionRequest(session=session, **fields))


def update(paths: list[str], slots: types_pb2.Slots | None = None, **fields: Any) -> Any:
    mask = FieldMask(paths=paths)
    return S.UpdateSlotsRequest(session=HERE, slots=slots, update_mask=mask, **fields)


# -- RecordTurns and GetSession


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


# -- UpdateSlots

FOCUS = T.Focus(type="customer", id="c-1", label="Contoso")


async def test_named_slots_are_set_by_the_caller_and_the_others_stay(rpc: Any):
    slots = T.Slots(
        focus=FOCUS,
        filters=[T.Filter(key="region", value="EMEA"), T.Filter(key="period", value="Q1")],
        answer_format="short",
    )
    session = (await rpc("UpdateSlots", update(["focus", "filters"], slots))).session
    assert (session.slots.focus.set_by, session.slots.focus.certainty) == ("caller", T.CERTAINTY_CONFIRMED)
    assert [f.key for f in session.slots.filters] == ["period", "region"]
    assert session.slots.answer_format == ""
    assert session.expire_time.ToDatetime(UTC) == NOW + timedelta(hours=1)
    assert (await look(rpc)).session == session


async def test_a_named_slot_that_is_empty_is_cleared(rpc: Any):
    await rpc("UpdateSlots", update(["focus", "answer_format"], T.Slots(focus=FOCUS, answer_format="table")))
    session = (await rpc("UpdateSlots", update(["focus"]))).session
    assert session.slots == T.Slots(answer_format="table")


async def test_a_tentative_slot_stays_tentative(rpc: Any):
    focus = T.Focus(type="customer", id="c", certainty=T.CERTAINTY_TENTATIVE)
    session = (await rpc("UpdateSlots", update(["focus"], T.Slots(focus=focus)))).session
    assert session.slots.focus.certainty == T.CERTAINTY_TENTATIVE


async def test_slots_are_forgotten_an_hour_after_the_last_touch(rpc: Any):
    await rpc("UpdateSlots", update(["focus"], T.Slots(focus=FOCUS)))
    rpc.now = NOW + timedelta(hours=1)
    assert (await look(rpc)).session == S.Session(session=HERE, slots=T.Slots())


@pytest.mark.parametrize(
    ("paths", "slots", "field", "remedy"),
    [
        (["mood"], T.Slots(), "update_mask", "use focus, filters, answer_format"),
        (["recent_questions"], T.Slots(), "update_mask", "use focus, filters, answer_format"),
        (["focus.id"], T.Slots(focus=FOCUS), "update_mask", "use focus, filters, answer_format"),
        ([], T.Slots(focus=FOCUS), "update_mask", "name what to set"),
        (["focus"], T.Slots(focus=T.Focus(type="car", id="c")), "slots.focus.type", "use one of customer"),
        (
            ["filters"],
            T.Slots(filters=[T.Filter(key="size", value="x")]),
            "slots.filters[0].key",
            "use one of region, period",
        ),
        (
            ["filters"],
            T.Slots(filters=[T.Filter(key="region", value="EMAE")]),
            "slots.filters[0].value",
            "did you mean EMEA?",
        ),
        (
            ["filters"],
            T.Slots(filters=[T.Filter(key="period", value="a"), T.Filter(key="period", value="b")]),
            "slots.filters[1].key",
            "send each filter once",
        ),
        (["answer_format"], T.Slots(answer_format="shrt"), "slots.answer_format", "did you mean short?"),
    ],
)
async def test_what_the_policy_does_not_declare_is_refused(
    rpc: Any, paths: list[str], slots: types_pb2.Slots, field: str, remedy: str
):
    failure = await rpc.failure("UpdateSlots", update(paths, slots))
    assert failure.outcome is Outcome.INVALID_ARGUMENT
    assert failure.metadata["field"] == field
    assert remedy in failure.message
    assert (await look(rpc)).session.etag == ""


async def test_all_that_is_wrong_is_told_at_once(rpc: Any):
    slots = T.Slots(focus=T.Focus(type="car", id="c"), answer_format="loud")
    failure = await rpc.failure("UpdateSlots", update(["focus", "answer_format"], slots))
    assert [v.field for v in failure.violations] == ["slots.focus.type", "slots.answer_format"]


async def test_an_update_under_a_stale_etag_aborts_and_tells_the_present_one(rpc: Any):
    first = (await rpc("UpdateSlots", update(["focus"], T.Slots(focus=FOCUS)))).session
    second = (await rpc("UpdateSlots", update(["answer_format"], T.Slots(answer_format="short")))).session
    assert first.etag != second.etag
    failure = await rpc.failure("UpdateSlots", update(["focus"], etag=first.etag))
    assert (failure.outcome, failure.reason) == (Outcome.ABORTED, Reason.ETAG_MISMATCH)
    assert failure.metadata == {"field": "etag", "etag": second.etag}
    session = (await rpc("UpdateSlots", update(["focus"], etag=second.etag))).session
    assert session.slots == T.Slots(answer_format="short")


async def test_of_concurrent_updates_under_one_etag_one_wins(rpc: Any):
    etag = (await rpc("UpdateSlots", update(["focus"], T.Slots(focus=FOCUS)))).session.etag

    def attempt(number: int) -> Any:
        focus = T.Focus(type="customer", id=f"c-{number}")
        return rpc("UpdateSlots", update(["focus"], T.Slots(focus=focus), etag=etag))

    results = await asyncio.gather(*(attempt(number) for number in range(10)), return_exceptions=True)
    won = [isinstance(result, S.UpdateSlotsResponse) for result in results]
    assert {r.reason for r in results if isinstance(r, GatewayError)} == {Reason.ETAG_MISMATCH}
    assert sum(won) == 1
    assert (await look(rpc)).session.slots.focus.id == f"c-{won.index(True)}"


async def test_concurrent_updates_of_different_slots_are_all_kept(rpc: Any):
    await asyncio.gather(
        rpc("UpdateSlots", update(["focus"], T.Slots(focus=FOCUS))),
        rpc("UpdateSlots", update(["filters"], T.Slots(filters=[T.Filter(key="region", value="APAC")]))),
        rpc("UpdateSlots", update(["answer_format"], T.Slots(answer_format="table"))),
    )
    slots = (await look(rpc)).session.slots
    assert (slots.focus.id, slots.filters[0].value, slots.answer_format) == ("c-1", "APAC", "table")


async def test_a_repeated_update_changes_nothing_twice(rpc: Any):
    request = update(["focus"], T.Slots(focus=FOCUS), request_id=uuid(4))
    first = await rpc.raw("UpdateSlots", request)
    await rpc("UpdateSlots", update(["focus"]))
    assert await rpc.raw("UpdateSlots", request) == first
    assert not (await look(rpc)).session.slots.HasField("focus")
    request.slots.focus.id = "c-2"
    assert (await rpc.failure("UpdateSlots", request)).reason is Reason.REQUEST_ID_REUSED


# -- EndSession


async def test_ending_archives_the_users_words_and_forgets_the_session(rpc: Any, storage: Storage):
    talk = (
        said("t1", "My plan?", occur_time=stamp(NOW - timedelta(minutes=9)), speaker="Ann"),
        said("t2", "Team.", T.ROLE_ASSISTANT),
        said("t3", "Thanks"),
    )
    await rpc("RecordTurns", batch(*talk))
    await rpc("UpdateSlots", update(["focus"], T.Slots(focus=FOCUS)))
    done = await rpc("EndSession", S.EndSessionRequest(session=HERE))
    assert (done.ended_turns, done.archived) == (3, True)
    assert list(done.excerpts) == [f"tenants/acme/users/ann/excerpts/{no}" for no in (1, 2)]
    assert await look(rpc) == S.GetSessionResponse(session=S.Session(session=HERE, slots=T.Slots()))
    archive = await storage.archives.load(UserRef("acme", "ann"))
    assert [(e.text, e.speaker, e.session_id) for e in archive.excerpts] == [
        ("My plan?", "Ann", "s/1"),
        ("Thanks", "", "s/1"),
    ]
    assert archive.excerpts[0].session_time == NOW - timedelta(minutes=9)


async def test_a_session_that_goes_on_after_its_end_is_archived_behind_the_first_part(
    rpc: Any, storage: Storage
):
    await rpc("RecordTurns", batch(said("t1", "one")))
    await rpc("EndSession", S.EndSessionRequest(session=HERE))
    await rpc("RecordTurns", batch(said("t2", "two")))
    await rpc("EndSession", S.EndSessionRequest(session=HERE))
    archive = await storage.archives.load(UserRef("acme", "ann"))
    assert [(e.text, e.position) for e in archive.excerpts] == [("one", 0), ("two", 1)]


async def test_a_policy_that_archives_nothing_forgets_all_the_same(rpc: Any, storage: Storage, catalog: Any):
    catalog.default = replace(catalog.default, archive=ArchiveRules(keep_turns=True))
    await rpc("RecordTurns", batch(said("t1", "one")))
    done = await rpc("EndSession", S.EndSessionRequest(session=HERE))
    assert done == S.EndSessionResponse(ended_turns=1)
    assert not (await look(rpc)).turns
    assert not (await storage.archives.load(UserRef("acme", "ann"))).excerpts


async def test_an_unknown_session_ends_without_complaint(rpc: Any):
    done = await rpc("EndSession", S.EndSessionRequest(session=HERE))
    assert done == S.EndSessionResponse(archived=True)


async def test_a_long_session_is_archived_whole(rpc: Any):
    for start in range(0, 1100, 55):
        await rpc("RecordTurns", batch(*(said(f"t{i}", f"turn {i}") for i in range(start, start + 55))))
    done = await rpc("EndSession", S.EndSessionRequest(session=HERE))
    assert (done.ended_turns, len(done.excerpts)) == (1100, 1100)


async def test_a_repeated_ending_answers_as_the_first_time(rpc: Any):
    await rpc("RecordTurns", batch(said("t1", "one")))
    request = S.EndSessionRequest(session=HERE, request_id=uuid(9))
    first = await rpc.raw("EndSession", request)
    await rpc("RecordTurns", batch(said("t2", "two")))
    assert await rpc.raw("EndSession", request) == first
    assert [t.turn_id for t in (await look(rpc)).turns] == ["t2"]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("GetSession", S.GetSessionRequest),
        ("EndSession", S.EndSessionRequest),
        ("RecordTurns", lambda session: batch(said("t", "x"), session=session)),
        (
            "UpdateSlots",
            lambda session: S.UpdateSlotsRequest(session=session, update_mask=FieldMask(paths=["focus"])),
        ),
    ],
)
async def test_every_method_needs_a_session_id(rpc: Any, name: str, make: Any):
    session = T.SessionRef(tenant_id="acme", user_id="ann")
    failure = await rpc.failure(name, make(session=session))
    assert failure.outcome is Outcome.INVALID_ARGUMENT
    assert "session_id is required" in failure.message
