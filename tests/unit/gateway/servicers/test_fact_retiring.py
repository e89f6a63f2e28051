"""FactService: facts are taken out of use, and deleted."""

from datetime import UTC, timedelta
from typing import Any

import pytest

from gateway.errors import Outcome, Reason
from tests.unit.gateway.servicers.fact_messages import (
    ANN,
    NOW,
    F,
    customer,
    fact,
    offer,
    record,
    stamp,
    uuid,
)


@pytest.fixture
def rpc(fact_rpc: Any) -> Any:
    return fact_rpc


async def test_invalidated_facts_stay_readable_with_the_reason(rpc: Any):
    results = await record(
        rpc, fact(source="mail"), fact("seats", integer=1, source="mail"), fact("active", flag=True)
    )
    request = F.InvalidateFactsRequest(user=ANN, source="mail", reason="mailbox was broken into")
    done = await rpc("InvalidateFacts", request)
    assert [f.key for f in done.invalidated] == ["plan", "seats"]
    assert (done.invalidated_count, done.affected_trace_count) == (2, 0)
    stored = (await rpc("GetFact", F.GetFactRequest(name=results[0].fact.name))).fact
    assert stored.state == F.FACT_STATE_INVALIDATED
    assert stored.invalidation_reason == "mailbox was broken into"
    assert stored.invalidate_time.ToDatetime(UTC) == NOW
    assert stored.etag != results[0].fact.etag
    assert [f.key for f in (await rpc("ListFacts", F.ListFactsRequest(user=ANN))).facts] == ["active"]


async def test_invalidation_by_name_key_writer_and_period_takes_no_more_than_was_meant(rpc: Any):
    (plan,) = await record(rpc, fact(writer="w1"))
    rpc.now = NOW + timedelta(hours=1)
    await record(rpc, fact("seats", integer=1, writer="w1"))
    await record(rpc, fact("active", flag=True, writer="w2"))

    async def would(**selector: Any) -> list[str]:
        request = F.InvalidateFactsRequest(user=ANN, reason="r", validate_only=True, **selector)
        return [f.key for f in (await rpc("InvalidateFacts", request)).invalidated]

    assert await would(name=plan.fact.name) == ["plan"]
    assert await would(key="seats") == ["seats"]
    assert await would(writer="w1") == ["plan", "seats"]
    assert await would(writer="w1", end_time=stamp(NOW + timedelta(hours=1))) == ["plan"]
    assert await would(writer="w1", start_time=stamp(NOW + timedelta(hours=1))) == ["seats"]
    assert await would(source="nobody") == []
    assert len((await rpc("ListFacts", F.ListFactsRequest(user=ANN))).facts) == 3


async def test_an_empty_period_is_refused(rpc: Any):
    request = F.InvalidateFactsRequest(
        user=ANN, key="plan", reason="r", start_time=stamp(NOW), end_time=stamp(NOW)
    )
    failure = await rpc.failure("InvalidateFacts", request)
    assert failure.metadata["field"] == "end_time"
    assert "set it later" in failure.message


async def test_a_repeated_invalidation_answers_as_the_first_time(rpc: Any):
    await record(rpc, fact())
    request = F.InvalidateFactsRequest(user=ANN, key="plan", reason="r", request_id=uuid(5))
    first = await rpc.raw("InvalidateFacts", request)
    assert await rpc.raw("InvalidateFacts", request) == first
    assert F.InvalidateFactsResponse.FromString(first).invalidated_count == 1
    anew = await rpc("InvalidateFacts", F.InvalidateFactsRequest(user=ANN, key="plan", reason="r"))
    assert anew.invalidated_count == 0


async def test_deleting_removes_the_value_for_good_and_leaves_the_proof(rpc: Any):
    (result,) = await record(rpc, fact("wish", statement="canary", source_turn="t9"))
    name = result.fact.name
    gone = (await rpc("DeleteFact", F.DeleteFactRequest(name=name, etag=result.fact.etag))).fact
    assert gone.state == F.FACT_STATE_DELETED
    assert gone.WhichOneof("value") is None
    assert (gone.key, gone.read_time, gone.write_time) == (
        "wish",
        result.fact.read_time,
        result.fact.write_time,
    )
    assert b"canary" not in await rpc.raw("GetFact", F.GetFactRequest(name=name))
    assert (await rpc("GetFact", F.GetFactRequest(name=name))).fact == gone


async def test_a_stale_etag_aborts_and_tells_the_present_one(rpc: Any):
    (result,) = await record(rpc, fact())
    await rpc("InvalidateFacts", F.InvalidateFactsRequest(user=ANN, key="plan", reason="r"))
    failure = await rpc.failure(
        "DeleteFact", F.DeleteFactRequest(name=result.fact.name, etag=result.fact.etag)
    )
    current = (await rpc("GetFact", F.GetFactRequest(name=result.fact.name))).fact
    assert (failure.outcome, failure.reason) == (Outcome.ABORTED, Reason.ETAG_MISMATCH)
    assert failure.metadata["etag"] == current.etag


async def test_the_fact_after_the_last_that_a_user_may_have_is_refused_whole(rpc: Any):
    wishes = [fact("wish", statement="w", subject=customer(i)) for i in range(4097)]
    for start in range(0, 4096, 256):
        await record(rpc, *wishes[start : start + 256])
    failure = await rpc.failure("RecordFacts", offer(wishes[-1]))
    assert (failure.outcome, failure.reason) == (Outcome.RESOURCE_EXHAUSTED, Reason.LIMIT_EXCEEDED)
    assert failure.metadata["max"] == "4096"
    done = await rpc("InvalidateFacts", F.InvalidateFactsRequest(user=ANN, writer="agent", reason="all"))
    assert (done.invalidated_count, len(done.invalidated)) == (4096, 1000)
