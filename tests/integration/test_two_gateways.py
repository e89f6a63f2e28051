"""Two gateway processes on Postgres and Redis: what one has acknowledged the other shows."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from gateway.client.client import Client
from gateway.client.errors import CallError
from gateway.consistency import encode_token
from muniment.v1 import (
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_service_pb2,
    prefix_pb2,
    session_pb2,
    types_pb2,
)
from storage.ports import Epochs
from tests.integration.production import Servers, gateways
from tests.integration.requests import DESK, TENANT, fact, past_session, user_turn
from tests.integration.talk import called, facts, history, returned, slots
from tests.servers import PostgresDatabase

LOOPS = 1_000

pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("two_gateways")]

Pair = list[Client]


@pytest.fixture(scope="module")
def pair(
    migrated_postgres: PostgresDatabase, redis_server_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    folder: Path = tmp_path_factory.mktemp("gateways")
    # What another test left behind is sealed under another master key: no gateway would start on it.
    migrated_postgres.empty()
    with gateways(Servers(migrated_postgres.url, redis_server_url, folder)) as running:
        yield running


@pytest.fixture
def tenant(pair: Pair) -> str:
    """A tenant of the test's own, with the desk's prefix and policy as its default."""
    name = f"{TENANT}-{uuid4().hex[:8]}"
    prefix = prefix_pb2.RegisterPrefixRevisionRequest(tenant_id=name, prefix_id="desk", text="You help.")
    pair[0].call(pair[0].prefixes.RegisterPrefixRevision, prefix)
    use(pair[0], name, DESK)
    return name


def use(client: Client, tenant: str, yaml: str) -> types_pb2.ConsistencyToken:
    """Make a policy the tenant's default; the write's token."""
    registration = policy_service_pb2.RegisterPolicyRevisionRequest(tenant_id=tenant, yaml=yaml.encode())
    name = client.call(client.policies.RegisterPolicyRevision, registration).revision.name
    activation = policy_service_pb2.ActivatePolicyRevisionRequest(name=name, tenant_default=True)
    return client.call(client.policies.ActivatePolicyRevision, activation).write_token


def user(tenant: str) -> types_pb2.UserRef:
    return types_pb2.UserRef(tenant_id=tenant, user_id="ada")


def session(tenant: str, session_id: str = "s1") -> types_pb2.SessionRef:
    return types_pb2.SessionRef(tenant_id=tenant, user_id="ada", session_id=session_id)


def question(
    tenant: str,
    text: str = "What is new?",
    session_id: str = "s1",
    seen: types_pb2.ConsistencyToken | None = None,
) -> context_pb2.AssembleContextRequest:
    return context_pb2.AssembleContextRequest(
        session=session(tenant, session_id), turn=user_turn(text, uuid4().hex), consistency=seen
    )


def record(client: Client, tenant: str, note: str) -> types_pb2.ConsistencyToken:
    """State a fact; the write's token."""
    stated = fact("note", note)
    stated.ClearField("read_time")
    request = fact_pb2.RecordFactsRequest(user=user(tenant), facts=[stated])
    return client.call(client.facts.RecordFacts, request).write_token


def test_p67_a_read_with_the_token_of_a_write_sees_it_through_the_other_gateway(pair: Pair, tenant: str):
    for number in range(LOOPS):
        writer, reader = pair if number % 2 else reversed(pair)
        seen = record(writer, tenant, f"mark {number}")
        request = question(tenant, session_id=f"s{number % 7}", seen=seen)
        answer = reader.call(reader.context.AssembleContext, request)
        assert f"mark {number}" in facts(answer), number
        assert not answer.degradations


def test_a_read_without_a_token_sees_what_was_acknowledged_before_it(pair: Pair, tenant: str):
    """The announcement reaches Redis before the write is acknowledged."""
    first, second = pair
    for number in range(100):
        record(first, tenant, f"mark {number}")
        answer = second.call(second.context.AssembleContext, question(tenant))
        assert f"mark {number}" in facts(answer)


def test_what_was_taken_out_of_use_is_gone_at_once_elsewhere(pair: Pair, tenant: str):
    first, second = pair
    for number in range(50):
        record(first, tenant, f"mark {number}")
        assert f"mark {number}" in facts(second.call(second.context.AssembleContext, question(tenant)))
        request = fact_pb2.InvalidateFactsRequest(user=user(tenant), key="note", reason="moved")
        first.call(first.facts.InvalidateFacts, request)
        assert "mark" not in facts(second.call(second.context.AssembleContext, question(tenant)))


def test_an_archive_that_one_imported_is_searched_by_the_other(pair: Pair, tenant: str):
    first, second = pair
    for number in range(20):
        sessions = [past_session(f"old{number}", f"My grinder{number} jams.")]
        request = history_pb2.ImportHistoryRequest(user=user(tenant), sessions=sessions)
        seen = first.call(first.history.ImportHistory, request).write_token
        search = history_pb2.SearchHistoryRequest(
            user=user(tenant), query=f"grinder{number}", consistency=seen
        )
        (match, *_) = second.call(second.history.SearchHistory, search).matches
        assert match.excerpt.text == f"My grinder{number} jams."
        asked = question(tenant, f"What about grinder{number}?", seen=seen)
        assert f"grinder{number} jams" in history(second.call(second.context.AssembleContext, asked))


def test_slots_go_with_the_session_from_gateway_to_gateway(pair: Pair, tenant: str):
    first, second = pair
    calls = session_pb2.RecordTurnsRequest(
        session=session(tenant),
        turns=[called("c1", "x"), returned("r1", "x", result='{"id": "s-1", "name": "Hofmann"}')],
    )
    recorded = first.call(first.sessions.RecordTurns, calls)
    assert recorded.slots.focus.label == "Hofmann"
    assert not recorded.warnings
    answer = second.call(second.context.AssembleContext, question(tenant, "And their terms?"))
    assert "Hofmann" in slots(answer)
    texts = [f"Question number {number}?" for number in range(20)]
    for number, text in enumerate(texts):
        client = pair[number % 2]
        answer = client.call(client.context.AssembleContext, question(tenant, text))
        assert answer.slots.recent_questions[-1].text == text
    view = first.call(first.sessions.GetSession, session_pb2.GetSessionRequest(session=session(tenant)))
    assert [q.text for q in view.session.slots.recent_questions] == texts[-3:]


def test_a_policy_that_one_activated_is_in_force_on_the_other(pair: Pair, tenant: str):
    first, second = pair
    for number in range(20):
        yaml = DESK.replace("max_input_tokens: 8000", f"max_input_tokens: {7000 + number}")
        use(pair[number % 2], tenant, yaml)
        for client in (first, second):
            answer = client.call(client.context.AssembleContext, question(tenant))
            assert answer.prompt.budget_report.limit == 7000 + number
            offered = fact("unknown-key", "x")
            request = fact_pb2.RecordFactsRequest(user=user(tenant), facts=[offered], validate_only=True)
            (result,) = client.call(client.facts.RecordFacts, request).results
            assert result.reason == fact_pb2.FactResult.REFUSAL_REASON_KEY_NOT_ALLOWED


def test_a_turn_answered_by_one_is_answered_again_by_the_other(pair: Pair, tenant: str):
    first, second = pair
    request = question(tenant)
    answer = first.call(first.context.AssembleContext, request)
    again = second.call(second.context.AssembleContext, request)
    assert again == answer
    request.turn.contents[0].text = "Something else?"
    with pytest.raises(CallError) as refused:
        second.call(second.context.AssembleContext, request)
    assert refused.value.reason == "TURN_ID_REUSED"


def test_a_token_of_nobody_is_refused_and_one_ahead_of_the_storage_too(pair: Pair, tenant: str):
    client = pair[0]
    made_up = question(tenant, seen=types_pb2.ConsistencyToken(token="made-up"))
    with pytest.raises(CallError) as refused:
        client.call(client.context.AssembleContext, made_up)
    assert (refused.value.code.name, refused.value.reason) == ("INVALID_ARGUMENT", "INVALID_FIELD")
    assert "consistency.token" in refused.value.message
    ahead = types_pb2.ConsistencyToken(token=encode_token(Epochs(10**6, 0, 0)))
    asked = (
        lambda: client.call(client.context.AssembleContext, question(tenant, seen=ahead)),
        lambda: client.call(
            client.facts.ListFacts, fact_pb2.ListFactsRequest(user=user(tenant), consistency=ahead)
        ),
        lambda: client.call(
            client.history.SearchHistory,
            history_pb2.SearchHistoryRequest(user=user(tenant), query="tea", consistency=ahead),
        ),
    )
    for ask in asked:
        with pytest.raises(CallError) as refused:
            ask()
        assert (refused.value.code.name, refused.value.reason) == (
            "FAILED_PRECONDITION",
            "CONSISTENCY_UNKNOWN",
        )
