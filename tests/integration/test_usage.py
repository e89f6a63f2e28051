"""CountTokens and ReportUsage over the wire: what providers bill is learnt from, per tenant and model."""

import uuid
from collections.abc import Iterator

import pytest

from gateway.client.client import Client
from gateway.client.errors import CallError
from muniment.v1 import context_pb2, types_pb2
from tests.integration.gateway_process import running_gateway
from tests.integration.traces_scene import Customer, prepare_tenant, settled

CLAUDE = types_pb2.ModelProfile(provider="anthropic", model="claude-opus-4-6")
GPT = types_pb2.ModelProfile(provider="openai", model="gpt-4o")
REPORTS = 25


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running_gateway(tmp_path_factory.mktemp("usage")) as running:
        prepare_tenant(running)
        yield running


@pytest.fixture
def ann(client: Client) -> Customer:
    return settled(client, f"ann-{uuid.uuid4().hex}@example.com")


def report(client: Client, trace: str, tokens: int, **more: object) -> context_pb2.ReportUsageResponse:
    request = context_pb2.ReportUsageRequest(trace=trace, input_tokens=tokens, **more)  # type: ignore[arg-type]
    return client.call(client.context.ReportUsage, request)


def count(
    client: Client, model: types_pb2.ModelProfile, *texts: str, tenant: str = "acme"
) -> context_pb2.CountTokensResponse:
    request = context_pb2.CountTokensRequest(tenant_id=tenant, model=model, texts=texts)
    return client.call(client.context.CountTokens, request)


def test_reports_raise_the_factor_of_a_model_without_a_public_tokenizer_for_its_tenant_only(
    client: Client, ann: Customer
):
    before = ann.ask("Is the grinder loud?", turn_id="t0", model=CLAUDE).prompt.budget_report
    assert (before.factor_permille, before.exactness) == (1250, types_pb2.EXACTNESS_ESTIMATE)
    raw = before.used * 1000 // before.factor_permille
    answers = []
    for number in range(REPORTS):
        trace = ann.ask("Is the grinder loud?", session_id=f"s{number}-of-many", model=CLAUDE).trace
        answers.append(report(client, trace, raw * 3 // 2))
    assert answers[0].factor_permille == 1250
    assert answers[0].estimated_input_tokens == before.used
    assert 1490 <= answers[-1].factor_permille <= 1510
    after = ann.ask(
        "Is the grinder loud?", turn_id="last", session_id="s3", model=CLAUDE
    ).prompt.budget_report
    assert after.factor_permille == answers[-1].factor_permille
    assert raw * 3 // 2 <= after.used <= raw * 3 // 2 + 5
    assert count(client, CLAUDE, "one two").factor_permille == answers[-1].factor_permille
    assert count(client, CLAUDE, "one two", tenant="other").factor_permille == 1250


def test_a_model_with_a_public_tokenizer_keeps_its_count(client: Client, ann: Customer):
    answer = ann.ask("Hello?")
    reported = report(client, answer.trace, 5000)
    assert reported.factor_permille == 1000
    assert reported.estimated_input_tokens == answer.prompt.budget_report.used


def test_a_report_is_taken_once(client: Client, ann: Customer):
    trace = ann.ask("Hello?").trace
    key = str(uuid.uuid4())
    first = report(client, trace, 300, output_tokens=20, request_id=key)
    assert report(client, trace, 300, output_tokens=20, request_id=key) == first
    assert report(client, trace, 300, output_tokens=20) == first
    for changed in ({"request_id": key}, {}):
        with pytest.raises(CallError) as caught:
            report(client, trace, 301, output_tokens=20, **changed)
        assert (caught.value.code.name, caught.value.reason) == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"tokens": 0}, "input_tokens"),
        ({"tokens": 10, "cached_input_tokens": 11}, "cached_input_tokens"),
        ({"tokens": 10, "cache_write_tokens": 11}, "cache_write_tokens"),
        ({"tokens": 10, "output_tokens": -1}, "output_tokens"),
        ({"tokens": 10, "request_id": "no-uuid"}, "request_id"),
    ],
)
def test_figures_that_cannot_be_are_refused_with_their_field(
    client: Client, ann: Customer, fields: dict[str, int], field: str
):
    trace = ann.ask("Hello?").trace
    with pytest.raises(CallError) as caught:
        report(client, trace, **fields)
    assert (caught.value.code.name, caught.value.metadata["field"]) == ("INVALID_ARGUMENT", field)


def test_a_report_for_an_unknown_trace_is_not_found(client: Client):
    with pytest.raises(CallError) as caught:
        report(client, f"tenants/acme/traces/{'0' * 32}", 10)
    assert caught.value.code.name == "NOT_FOUND"


def test_texts_are_counted_each_on_its_own(client: Client):
    counted = count(client, GPT, "hello", "", "hello world", "<|endoftext|>")
    assert list(counted.token_counts) == [1, 0, 2, 7]
    assert (counted.exactness, counted.tokenizer) == (types_pb2.EXACTNESS_EXACT, "o200k_base")
    estimated = count(client, CLAUDE, "hello " * 100, tenant="else")
    assert estimated.exactness == types_pb2.EXACTNESS_ESTIMATE
    assert list(estimated.token_counts) == [-(-count(client, GPT, "hello " * 100).token_counts[0] * 5 // 4)]


def test_an_unknown_tokenizer_is_refused_with_those_there_are(client: Client):
    model = types_pb2.ModelProfile(provider="openai", model="gpt-4o", tokenizer="p50k")
    with pytest.raises(CallError, match=r"model\.tokenizer: .*o200k_base") as caught:
        count(client, model, "hello")
    assert caught.value.code.name == "INVALID_ARGUMENT"
