"""SessionService: endings archive where the policy says so."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from assemblers.policy.model import ArchiveRules
from assemblers.records import UserRef
from gateway.errors import Outcome
from storage.ports import Storage
from tests.unit.gateway.servicers.session_messages import (
    FOCUS,
    HERE,
    NOW,
    S,
    T,
    batch,
    look,
    said,
    stamp,
    update,
    uuid,
)


@pytest.fixture
def rpc(session_rpc: Any) -> Any:
    return session_rpc


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
    assert done == S.EndSessionResponse(ended_turns=1, write_token=done.write_token)
    assert not (await look(rpc)).turns
    assert not (await storage.archives.load(UserRef("acme", "ann"))).excerpts


async def test_an_unknown_session_ends_without_complaint(rpc: Any):
    done = await rpc("EndSession", S.EndSessionRequest(session=HERE))
    assert done == S.EndSessionResponse(archived=True, write_token=done.write_token)


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


async def test_turns_recorded_while_a_session_ends_are_archived_too(rpc: Any, storage: Storage):
    """Four calls record while another ends: whatever was acknowledged is archived or still there."""
    await rpc("RecordTurns", batch(said("t0", "zero")))
    await asyncio.gather(
        rpc("EndSession", S.EndSessionRequest(session=HERE)),
        *(rpc("RecordTurns", batch(said(f"t{n}", f"word{n}"))) for n in range(1, 5)),
    )
    archived = {e.text for e in (await storage.archives.load(UserRef("acme", "ann"))).excerpts}
    live = {turn.contents[0].text for turn in (await look(rpc)).turns}
    assert archived | live == {"zero", "word1", "word2", "word3", "word4"}
    assert not archived & live
