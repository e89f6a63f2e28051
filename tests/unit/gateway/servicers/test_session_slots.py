"""SessionService: slots that are set by hand, and that nobody loses."""

import asyncio
from datetime import UTC, timedelta
from typing import Any

import pytest

from gateway.errors import GatewayError, Outcome, Reason
from muniment.v1 import types_pb2
from tests.unit.gateway.servicers.session_messages import (
    FOCUS,
    HERE,
    NOW,
    S,
    T,
    look,
    update,
    uuid,
)


@pytest.fixture
def rpc(session_rpc: Any) -> Any:
    return session_rpc


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
