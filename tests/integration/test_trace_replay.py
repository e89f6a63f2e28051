"""ReplayTrace over the wire: the same bytes after a restart and whatever changed, an answer where they are gone."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.client.client import Client
from gateway.client.errors import CallError
from muniment.v1 import context_pb2, fact_pb2, prompt_pb2, session_pb2, trace_pb2, types_pb2
from tests.integration.gateway_process import running_gateway
from tests.integration.traces_scene import TENANT, Customer, prepare_tenant, settled

QUESTION = "Why is the grinder so loud? 🙂"
BOTH = [types_pb2.PROMPT_FORMAT_OPENAI_CHAT, types_pb2.PROMPT_FORMAT_ANTHROPIC_MESSAGES]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running_gateway(tmp_path_factory.mktemp("replays")) as running:
        prepare_tenant(running)
        yield running


@pytest.fixture
def ann(client: Client) -> Customer:
    return settled(client, f"ann-{uuid.uuid4().hex}@example.com")


def replay(
    client: Client, trace: str, *formats: types_pb2.PromptFormat.ValueType
) -> trace_pb2.ReplayTraceResponse:
    request = trace_pb2.ReplayTraceRequest(name=trace, formats=formats)
    return client.call(client.traces.ReplayTrace, request)


def invalidate(customer: Customer, fact: str) -> None:
    request = fact_pb2.InvalidateFactsRequest(user=customer.user, name=fact, reason="the agent was at fault")
    customer.client.call(customer.client.facts.InvalidateFacts, request)


def delete(customer: Customer, fact: str) -> None:
    customer.client.call(customer.client.facts.DeleteFact, fact_pb2.DeleteFactRequest(name=fact))


def current_plan(customer: Customer) -> str:
    return f"tenants/{TENANT}/users/{customer.user_id.replace('@', '%40')}/facts/2"


def test_a_prompt_is_the_same_in_every_byte_after_a_restart(tmp_path: Path):
    with running_gateway(tmp_path) as client:
        prepare_tenant(client)
        ann = settled(client, "ann@example.com")
        material = [context_pb2.Material(text="Burrs wear out.", source="handbook")]
        answer = ann.ask(QUESTION, material=material, formats=BOTH, time_zone="Europe/Berlin")
    with running_gateway(tmp_path) as client:
        again = replay(client, answer.trace)
        repeated = Customer(client, "ann@example.com")
        same = repeated.ask(QUESTION, material=material, formats=BOTH, time_zone="Europe/Berlin")
    assert again.identical
    assert again.recorded_sha256 == again.replayed_sha256 == answer.prompt.prompt_sha256
    assert again.recorded_engine_version == again.replayed_engine_version
    assert again.prompt.SerializeToString(deterministic=True) == _bytes(answer.prompt)
    assert _bytes(same) == _bytes(answer)


def test_a_tool_loop_is_replayed_with_its_calls_and_results(client: Client, ann: Customer):
    ann.ask(QUESTION, turn_id="t1")
    call = types_pb2.ToolCall(call_id="c1", tool_name="lookup", arguments_json='{"id":7}')
    said = types_pb2.Turn(
        turn_id="t2", role=types_pb2.ROLE_ASSISTANT, contents=[types_pb2.Content(tool_call=call)]
    )
    session = types_pb2.SessionRef(tenant_id=TENANT, user_id=ann.user_id, session_id="s1")
    client.call(client.sessions.RecordTurns, session_pb2.RecordTurnsRequest(session=session, turns=[said]))
    result = types_pb2.ToolResult(call_id="c1", tool_name="lookup", result_json='{"name":"Mill 3"}')
    turn = types_pb2.Turn(
        turn_id="t3", role=types_pb2.ROLE_TOOL, contents=[types_pb2.Content(tool_result=result)]
    )
    request = context_pb2.AssembleContextRequest(session=session, turn=turn, formats=BOTH)
    answer = client.call(client.context.AssembleContext, request)
    again = replay(client, answer.trace)
    assert again.identical
    assert _bytes(again.prompt) == _bytes(answer.prompt)
    found = client.call(
        client.traces.ListAppearances,
        trace_pb2.ListAppearancesRequest(user=ann.user, item_id="result/c1"),
    )
    assert [appearance.trace for appearance in found.appearances] == [answer.trace]


def test_formats_are_those_asked_for_and_else_those_of_the_trace(client: Client, ann: Customer):
    answer = ann.ask(QUESTION, formats=BOTH[:1])
    kept = replay(client, answer.trace)
    other = replay(client, answer.trace, types_pb2.PROMPT_FORMAT_TEXT, types_pb2.PROMPT_FORMAT_OPENAI_CHAT)
    assert [rendered.format for rendered in kept.prompt.rendered] == BOTH[:1]
    assert {rendered.format for rendered in other.prompt.rendered} == {types_pb2.PROMPT_FORMAT_TEXT, BOTH[0]}
    assert other.identical
    assert other.prompt.budget_report == answer.prompt.budget_report
    chat = next(r.body for r in other.prompt.rendered if r.format == BOTH[0])
    assert chat == answer.prompt.rendered[0].body


def test_what_changed_since_does_not_change_the_replay(client: Client, ann: Customer):
    answer = ann.ask(QUESTION)
    ann.state("plan", "enterprise", days_ago=0)
    ann.remember("The grinder is loud at night.", days_ago=1, session_id="s-new")
    invalidate(ann, ann.state("tone", "formal", days_ago=0))
    prepare_tenant(client)
    again = replay(client, answer.trace)
    assert again.identical
    assert _bytes(again.prompt) == _bytes(answer.prompt)


def test_the_same_turn_again_gives_the_same_answer_and_no_second_trace(client: Client, ann: Customer):
    answer = ann.ask(QUESTION, formats=BOTH)
    ann.state("plan", "enterprise", days_ago=0)
    again = ann.ask(QUESTION, formats=BOTH)
    # The token says what can be seen by then, and more can.
    assert again.read_token != answer.read_token
    again.read_token.CopyFrom(answer.read_token)
    assert _bytes(again) == _bytes(answer)
    listed = trace_pb2.ListTracesRequest(tenant_id=TENANT, user_id=ann.user_id)
    assert len(client.call(client.traces.ListTraces, listed).traces) == 1


def test_the_same_turn_with_another_body_is_refused(client: Client, ann: Customer):
    ann.ask(QUESTION)
    with pytest.raises(CallError) as caught:
        ann.ask("Another question?")
    assert (caught.value.code.name, caught.value.reason) == ("ALREADY_EXISTS", "TURN_ID_REUSED")


def test_an_invalidated_fact_replays_for_the_auditor_and_not_for_the_agent(client: Client, ann: Customer):
    answer = ann.ask(QUESTION)
    invalidate(ann, current_plan(ann))
    assert replay(client, answer.trace).identical
    with pytest.raises(CallError, match="ask with a new turn id") as caught:
        ann.ask(QUESTION)
    assert (caught.value.code.name, caught.value.reason) == ("FAILED_PRECONDITION", "INVALIDATED")
    assert caught.value.metadata["item_id"] == "fact/2"
    assert ann.ask(QUESTION, turn_id="t2").trace != answer.trace


def test_a_deleted_fact_makes_the_prompt_unrepeatable_and_leaves_the_record(client: Client, ann: Customer):
    answer = ann.ask(QUESTION)
    delete(ann, current_plan(ann))
    with pytest.raises(CallError, match="fact/2 was erased") as caught:
        replay(client, answer.trace)
    assert (caught.value.code.name, caught.value.reason) == ("FAILED_PRECONDITION", "ERASED")
    assert caught.value.metadata["name"] == answer.trace
    trace = client.call(client.traces.GetTrace, trace_pb2.GetTraceRequest(name=answer.trace)).trace
    assert "fact/2" in {candidate.item_id for candidate in trace.candidates}
    explained = client.call(
        client.traces.ExplainItem, trace_pb2.ExplainItemRequest(trace=answer.trace, item_id="fact/2")
    )
    assert explained.text == ""
    assert explained.steps[-1].kind == trace_pb2.DescentStep.KIND_DELETED
    assert b"team" not in explained.SerializeToString()


def test_a_superseded_fact_that_is_deleted_leaves_the_replay_as_it_was(client: Client, ann: Customer):
    answer = ann.ask(QUESTION)
    delete(ann, current_plan(ann).replace("/facts/2", "/facts/1"))
    assert replay(client, answer.trace).identical


def test_explaining_ahead_shows_the_trace_inline_and_writes_nothing(client: Client, ann: Customer):
    request = context_pb2.ExplainContextRequest(request=ann.request(QUESTION))
    dry = client.call(client.context.ExplainContext, request)
    listed = trace_pb2.ListTracesRequest(tenant_id=TENANT, user_id=ann.user_id)
    assert not client.call(client.traces.ListTraces, listed).traces
    assert (dry.trace.name, dry.trace.HasField("seal"), dry.trace.turn_id) == ("", False, "t1")
    assert {"fact/2", "excerpt/4", "question"} <= {c.item_id for c in dry.trace.candidates}
    wet = ann.ask(QUESTION)
    recorded = client.call(client.traces.GetTrace, trace_pb2.GetTraceRequest(name=wet.trace)).trace
    # Of all candidates only the question has the time of its call in it.
    assert list(dry.trace.candidates)[:-1] == list(recorded.candidates)[:-1]
    assert dry.trace.prompt_sha256 == dry.prompt.prompt_sha256 == wet.prompt.prompt_sha256


def _bytes(message: context_pb2.AssembleContextResponse | prompt_pb2.Prompt) -> bytes:
    return message.SerializeToString(deterministic=True)
