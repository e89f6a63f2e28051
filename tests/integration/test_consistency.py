"""Consistency tokens on the embedded backend: what they promise holds there too, at no cost."""

from pathlib import Path

import pytest

from gateway.consistency import decode_token, encode_token
from muniment.v1 import context_pb2, fact_pb2, history_pb2, types_pb2
from storage.ports import Epochs
from tests.integration.in_process import Gateway, gateway_at
from tests.integration.requests import GOOD, USER, context_request, fact, facts_request
from tests.integration.talk import Person, facts


def epochs_of(token: types_pb2.ConsistencyToken) -> Epochs:
    return decode_token("token", token.token)


@pytest.fixture
async def gateway(tmp_path: Path):
    async with gateway_at(tmp_path) as opened:
        await opened.use_desk()
        yield opened


async def test_each_write_moves_the_part_that_it_changed(gateway: Gateway):
    first = epochs_of((await gateway.call("RecordFacts", facts_request(fact()))).write_token)
    second = epochs_of((await gateway.call("RecordFacts", facts_request(fact(text="has moved")))).write_token)
    third = epochs_of((await gateway.call("ImportHistory", GOOD["ImportHistory"])).write_token)
    await gateway.use_desk()
    fourth = epochs_of(
        (await gateway.call("RegisterPrefixRevision", GOOD["RegisterPrefixRevision"])).write_token
    )
    assert first.facts < second.facts == third.facts
    assert first.archive == second.archive < third.archive
    assert first.tenant == second.tenant == third.tenant <= fourth.tenant


@pytest.mark.parametrize(
    "method", ["RecordFacts", "InvalidateFacts", "ImportHistory", "EndSession", "RegisterPrefixRevision"]
)
async def test_every_write_of_what_prompts_are_made_of_gives_a_token(gateway: Gateway, method: str):
    answer = await gateway.call(method, GOOD[method])
    assert epochs_of(answer.write_token).tenant > 0


@pytest.mark.parametrize("method", ["RecordFacts", "InvalidateFacts", "ImportHistory"])
async def test_a_dry_run_gives_none(gateway: Gateway, method: str):
    request = type(GOOD[method])()
    request.CopyFrom(GOOD[method])
    request.validate_only = True  # type: ignore[attr-defined]  # these have it
    assert not (await gateway.call(method, request)).HasField("write_token")


async def test_a_repeat_gives_the_first_answer_and_a_token(gateway: Gateway):
    request = facts_request(fact())
    request.request_id = "3f2b8c1e-9d47-4a60-8e15-7c0d6b9a2f41"
    first, again = [await gateway.call("RecordFacts", request) for _ in range(2)]
    assert again == first


async def test_an_answer_says_what_it_saw(gateway: Gateway):
    ada = Person(gateway)
    written = await gateway.call("RecordFacts", facts_request(fact()))
    answer = await ada.ask("What is new?")
    assert epochs_of(answer.read_token).facts == epochs_of(written.write_token).facts
    dry = await ada.ask("What is new?", validate_only=True)
    assert dry.read_token == answer.read_token


async def test_a_read_with_the_token_of_a_write_sees_it(gateway: Gateway):
    ada = Person(gateway)
    stated = fact(text="moves house")
    stated.ClearField("read_time")
    token = (await gateway.call("RecordFacts", facts_request(stated))).write_token
    assert "moves house" in facts(await ada.ask("What is new?", consistency=token))
    listed = await gateway.call("ListFacts", fact_pb2.ListFactsRequest(user=USER, consistency=token))
    name = listed.facts[0].name
    assert (
        await gateway.call("GetFact", fact_pb2.GetFactRequest(name=name, consistency=token))
    ).fact.name == name


AHEAD = types_pb2.ConsistencyToken(token=encode_token(Epochs(10**9, 0, 0)))
READS = {
    "AssembleContext": context_pb2.AssembleContextRequest(
        session=context_request().session, turn=context_request().turn, consistency=AHEAD
    ),
    "ExplainContext": context_pb2.ExplainContextRequest(
        request=context_pb2.AssembleContextRequest(
            session=context_request().session, turn=context_request().turn, consistency=AHEAD
        )
    ),
    "ListFacts": fact_pb2.ListFactsRequest(user=USER, consistency=AHEAD),
    "GetFact": fact_pb2.GetFactRequest(name="tenants/acme/users/ada/facts/1", consistency=AHEAD),
    "SearchHistory": history_pb2.SearchHistoryRequest(user=USER, query="tea", consistency=AHEAD),
}


@pytest.mark.parametrize("method", READS)
async def test_a_token_of_a_write_that_never_was_is_refused(gateway: Gateway, method: str):
    refused = await gateway.refusal(method, READS[method])
    assert (refused.code, refused.reason) == ("FAILED_PRECONDITION", "CONSISTENCY_UNKNOWN")
    assert refused.info.metadata["field"] == "consistency.token"


async def test_a_token_takes_no_part_in_telling_whether_a_turn_is_a_repeat(gateway: Gateway):
    ada = Person(gateway)
    first = await ada.ask("What is new?", turn_id="t1")
    again = await ada.ask("What is new?", turn_id="t1", consistency=first.read_token)
    assert again == first
