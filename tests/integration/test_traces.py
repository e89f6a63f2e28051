"""TraceService over the wire: what went into a prompt, what did not, why, and where else it was."""

import uuid
from collections.abc import Iterator

import grpc
import pytest

from gateway.client.client import Client
from gateway.client.errors import CallError
from muniment.v1 import context_pb2, prompt_pb2, trace_pb2, types_pb2
from tests.integration.gateway_process import running_gateway
from tests.integration.traces_scene import TENANT, Customer, prepare_tenant, settled, text_at

GRINDER = "Why is the grinder so loud?"
LONG = "Kettles are descaled with citric acid. " * 30
MATERIAL = (
    context_pb2.Material(text="Burrs wear out.", source="handbook", title="Burrs"),
    context_pb2.Material(text=LONG, source="wiki", title="Kettles"),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running_gateway(tmp_path_factory.mktemp("traces")) as running:
        prepare_tenant(running)
        yield running


@pytest.fixture
def ann(client: Client) -> Customer:
    """A customer of this test's own."""
    return settled(client, f"ann-{uuid.uuid4().hex}@example.com")


@pytest.fixture
def asked(ann: Customer) -> context_pb2.AssembleContextResponse:
    return ann.ask(GRINDER, material=MATERIAL, labels={"channel": "web"})


def get(client: Client, name: str) -> trace_pb2.Trace:
    return client.call(client.traces.GetTrace, trace_pb2.GetTraceRequest(name=name)).trace


def listed(client: Client, **fields: object) -> trace_pb2.ListTracesResponse:
    request = trace_pb2.ListTracesRequest(tenant_id=TENANT, **fields)  # type: ignore[arg-type]
    return client.call(client.traces.ListTraces, request)


def why(client: Client, trace: str, item_id: str) -> trace_pb2.ExplainItemResponse:
    request = trace_pb2.ExplainItemRequest(trace=trace, item_id=item_id)
    return client.call(client.traces.ExplainItem, request)


def why_not(client: Client, trace: str, **item: object) -> list[trace_pb2.AbsenceExplanation]:
    request = trace_pb2.ExplainAbsenceRequest(trace=trace, **item)  # type: ignore[arg-type]
    return list(client.call(client.traces.ExplainAbsence, request).explanations)


def appearances(
    client: Client, user: types_pb2.UserRef, item_id: str, **page: object
) -> trace_pb2.ListAppearancesResponse:
    request = trace_pb2.ListAppearancesRequest(user=user, item_id=item_id, **page)  # type: ignore[arg-type]
    return client.call(client.traces.ListAppearances, request)


def refusal(call: object) -> tuple[str, str]:
    """The code and reason that a call fails with."""
    with pytest.raises(CallError) as caught:
        call()  # type: ignore[operator]
    return caught.value.code.name, caught.value.reason


# -- GetTrace


def test_a_trace_says_what_decided_and_what_was_asked(
    client: Client, asked: context_pb2.AssembleContextResponse
):
    trace = get(client, asked.trace)
    assert (trace.name, trace.turn_id, trace.session.session_id) == (asked.trace, "t1", "s1")
    assert trace.policy_revision == asked.policy_revision
    assert trace.prefix_revision.startswith(f"tenants/{TENANT}/prefixes/desk/revisions/")
    assert (trace.model.provider, trace.model.model) == ("openai", "gpt-4o")
    assert trace.model.tokenizer == asked.prompt.budget_report.tokenizer
    assert dict(trace.labels) == {"channel": "web"}
    assert trace.prompt_sha256 == asked.prompt.prompt_sha256
    assert trace.totals == asked.prompt.budget_report
    assert {library.name for library in trace.libraries} == {"numpy", "regex", "snowballstemmer"}
    assert [timing.stage for timing in trace.timings][:2] == ["gather", "assemble"]
    assert list(trace.history.query_terms) == ["grinder", "loud"]
    assert (trace.seal.sequence >= 1, len(trace.seal.record_hash), len(trace.seal.previous_hash)) == (
        True,
        64,
        64,
    )


def test_each_candidate_has_a_fate_and_the_bytes_that_it_fills(
    client: Client, asked: context_pb2.AssembleContextResponse
):
    candidates = {c.item_id: c for c in get(client, asked.trace).candidates}
    spans = {
        span.item_id: (place, index, span)
        for place, message in enumerate(asked.prompt.messages)
        for index, part in enumerate(message.parts)
        for span in part.spans
    }
    assert {"fact/1", "fact/2", "excerpt/4", "material/1", "question", "prefix"} <= candidates.keys()
    for item_id, candidate in candidates.items():
        if candidate.outcome == trace_pb2.OUTCOME_INCLUDED and not item_id.startswith("tool/"):
            message, part, span = spans[item_id]
            at = candidate.location
            assert (at.message, at.part, at.offset, at.length) == (message, part, span.offset, span.length)
            assert candidate.source == span.source
        else:
            assert not candidate.HasField("location")


def test_candidates_come_by_section_in_byte_order_with_reason_and_deciding_field(
    client: Client, asked: context_pb2.AssembleContextResponse
):
    trace = get(client, asked.trace)
    sections = list(dict.fromkeys(candidate.section for candidate in trace.candidates))
    assert sections == [
        types_pb2.SECTION_KIND_PREFIX, types_pb2.SECTION_KIND_FACTS, types_pb2.SECTION_KIND_HISTORY,
        types_pb2.SECTION_KIND_MATERIAL, types_pb2.SECTION_KIND_QUESTION,
    ]  # fmt: skip
    by_id = {candidate.item_id: candidate for candidate in trace.candidates}
    assert by_id["fact/1"].reason == prompt_pb2.REASON_SUPERSEDED
    assert by_id["material/1"].reason == prompt_pb2.REASON_OVER_CEILING
    assert by_id["material/1"].policy_field == "sections[3].budget.ceiling_tokens"
    assert by_id["excerpt/3"].policy_field == "sections[2].history.max_excerpts"
    assert [score.name for score in by_id["excerpt/4"].scores] == ["total", "keyword", "neighbour", "session"]
    legs = {score.name: score.value for score in by_id["excerpt/4"].scores}
    assert legs["total"] == pytest.approx(legs["keyword"] + legs["neighbour"] + legs["session"], abs=2e-6)


def test_a_foreign_trace_cannot_be_told_from_one_that_never_was(
    client: Client, asked: context_pb2.AssembleContextResponse
):
    foreign = asked.trace.replace(f"tenants/{TENANT}/", "tenants/other/")
    unknown = f"tenants/other/traces/{'0' * 32}"
    seen = []
    for name in (foreign, unknown):
        with pytest.raises(CallError) as caught:
            get(client, name)
        seen.append((caught.value.code, caught.value.status.SerializeToString()))
    assert seen[0] == seen[1]
    assert seen[0][0] is grpc.StatusCode.NOT_FOUND


def test_a_name_of_another_form_is_refused_with_the_form(client: Client):
    with pytest.raises(CallError, match=r"name: .*tenants/\{t\}/traces/\{id\}"):
        get(client, f"tenants/{TENANT}/traces/short")


# -- ListTraces


def test_traces_are_listed_newest_first_in_pages_without_candidates(client: Client, ann: Customer):
    names = [ann.ask(GRINDER, turn_id=f"t{number}").trace for number in range(3)]
    first = listed(client, user_id=ann.user_id, page_size=2)
    rest = listed(client, user_id=ann.user_id, page_size=2, page_token=first.next_page_token)
    found = [*first.traces, *rest.traces]
    assert [trace.name for trace in found] == names[::-1]
    assert rest.next_page_token == ""
    assert not any(trace.candidates for trace in found)
    assert [trace.seal.sequence for trace in found] == sorted((t.seal.sequence for t in found), reverse=True)


def test_traces_are_found_by_session_turn_policy_and_time(client: Client, ann: Customer):
    one = ann.ask(GRINDER, turn_id="a", session_id="s1").trace
    two = ann.ask(GRINDER, turn_id="b", session_id="s2").trace
    plain = ann.ask("Hello?", turn_id="c", session_id="s2", policy="policies/conversation").trace
    moment = get(client, two).now

    def names(**fields: object) -> list[str]:
        return [trace.name for trace in listed(client, user_id=ann.user_id, **fields).traces]

    assert names(session_id="s2") == [plain, two]
    assert names(session_id="s2", turn_id="b") == [two]
    assert names(policy="policies/conversation") == [plain]
    assert names(policy=f"tenants/{TENANT}/policies/desk") == [two, one]
    assert names(policy=get(client, one).policy_revision) == [two, one]
    assert names(policy=f"tenants/{TENANT}/policies/des") == []
    assert names(start_time=moment) == [plain, two]
    assert names(end_time=moment) == [one]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"session_id": "s1"}, "session_id"),
        ({"user_id": "ann", "turn_id": "t1"}, "turn_id"),
        ({"policy": "nonsense/x"}, "policy"),
        ({"start_time": {"seconds": 10}, "end_time": {"seconds": 10}}, "end_time"),
        ({"page_size": 501}, "page_size"),
    ],
)
def test_a_selection_that_makes_no_sense_is_refused_with_its_field(
    client: Client, fields: dict[str, object], field: str
):
    with pytest.raises(CallError) as caught:
        listed(client, **fields)
    assert caught.value.code is grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.metadata["field"] == field


def test_a_page_token_of_another_list_is_refused(client: Client, ann: Customer):
    for number in range(2):
        ann.ask(GRINDER, turn_id=f"t{number}")
    token = listed(client, user_id=ann.user_id, page_size=1).next_page_token
    assert refusal(lambda: listed(client, user_id="else", page_size=1, page_token=token)) == (
        "INVALID_ARGUMENT",
        "PAGE_TOKEN_INVALID",
    )


# -- ExplainItem and ExplainAbsence


@pytest.mark.parametrize(
    "item_id",
    ["fact/2", "excerpt/4", "archived-session/s-older", "material/0", "question", "prefix", "tool/lookup",
     "policy/facts.heading", "today"],
)  # fmt: skip
def test_any_item_of_a_prompt_is_explained_with_its_bytes(
    client: Client, asked: context_pb2.AssembleContextResponse, item_id: str
):
    answer = why(client, asked.trace, item_id)
    at = answer.candidate.location
    assert answer.candidate.item_id == item_id
    assert answer.text
    assert answer.text == text_at(asked.prompt, at.message, at.part, at.offset, at.length)
    assert answer.steps[-1].kind == trace_pb2.DescentStep.KIND_SELECTED


def test_the_descent_of_a_fact_goes_from_its_reading_over_what_it_replaced_to_the_prompt(
    client: Client, ann: Customer, asked: context_pb2.AssembleContextResponse
):
    steps = why(client, asked.trace, "fact/2").steps
    kinds = [trace_pb2.DescentStep.Kind.Name(step.kind) for step in steps]
    assert kinds == [
        "KIND_OBSERVED",
        "KIND_WRITTEN",
        "KIND_ADMITTED",
        "KIND_SUPERSEDED_OTHER",
        "KIND_SELECTED",
    ]
    assert (steps[0].actor, steps[1].actor, steps[3].reference) == ("crm", "billing-agent", "fact/1")
    ann.state("plan", "enterprise", days_ago=0)
    later = why(client, asked.trace, "fact/2").steps
    assert [step.kind for step in later][-1] == trace_pb2.DescentStep.KIND_SUPERSEDED
    assert later[-1].reference == "fact/4"


def test_an_item_won_over_those_that_were_left_out(
    client: Client, asked: context_pb2.AssembleContextResponse
):
    beaten = [candidate.item_id for candidate in why(client, asked.trace, "excerpt/4").won_over]
    assert beaten == ["excerpt/3", "excerpt/1", "excerpt/2"]


@pytest.mark.parametrize("item_id", ["fact/1", "fact/77", "nothing", "excerpt/x"])
def test_what_is_not_in_the_prompt_cannot_be_explained_as_present(
    client: Client, asked: context_pb2.AssembleContextResponse, item_id: str
):
    assert refusal(lambda: why(client, asked.trace, item_id)) == ("NOT_FOUND", "NOT_FOUND")


def test_an_absence_names_the_reason_the_field_and_what_would_have_let_it_in(
    client: Client, ann: Customer, asked: context_pb2.AssembleContextResponse
):
    (dear,) = why_not(client, asked.trace, text="citric acid")
    assert (dear.finding, dear.item_id) == (trace_pb2.AbsenceExplanation.FINDING_EXCLUDED, "material/1")
    assert (dear.reason, dear.policy_field) == (
        prompt_pb2.REASON_OVER_CEILING,
        "sections[3].budget.ceiling_tokens",
    )
    figures = {figure.name: int(figure.value) for figure in dear.figures}
    assert f"a ceiling of {figures['ceiling'] + figures['missing_tokens']}" in dear.remedy
    old, *_ = why_not(client, asked.trace, fact=f"tenants/{TENANT}/users/{_quoted(ann)}/facts/1")
    assert (old.reason, old.text) == (prompt_pb2.REASON_SUPERSEDED, "starter")
    (unknown,) = why_not(client, asked.trace, fact_key={"key": "hobby"})
    assert unknown.finding == trace_pb2.AbsenceExplanation.FINDING_NOT_ON_RECORD
    assert unknown.reason == prompt_pb2.REASON_UNSPECIFIED
    present, *_ = why_not(client, asked.trace, fact_key={"key": "tone"})
    assert present.finding == trace_pb2.AbsenceExplanation.FINDING_PRESENT


def test_what_was_written_after_the_prompt_is_said_to_be_later(
    client: Client, ann: Customer, asked: context_pb2.AssembleContextResponse
):
    name = ann.state("plan", "enterprise", days_ago=0)
    ann.remember("The scale shows zero grams.", days_ago=1, session_id="s-new")
    (fact,) = why_not(client, asked.trace, fact=name)
    (excerpt,) = why_not(client, asked.trace, text="zero grams")
    later = trace_pb2.AbsenceExplanation.FINDING_RECORDED_LATER
    assert (fact.finding, excerpt.finding) == (later, later)


def test_another_users_fact_or_one_that_never_was_is_not_found(
    client: Client, ann: Customer, asked: context_pb2.AssembleContextResponse
):
    bob = settled(client, f"bob-{uuid.uuid4().hex}")
    for name in (bob.state("plan", "x", days_ago=0), f"tenants/{TENANT}/users/{_quoted(ann)}/facts/99"):
        assert refusal(lambda name=name: why_not(client, asked.trace, fact=name))[0] == "NOT_FOUND"
    missing = f"tenants/{TENANT}/users/{_quoted(ann)}/excerpts/99"
    assert refusal(lambda: why_not(client, asked.trace, excerpt=missing))[0] == "NOT_FOUND"


# -- ListAppearances


def test_an_item_is_found_in_every_prompt_that_has_it_newest_first(client: Client, ann: Customer):
    first = ann.ask(GRINDER, turn_id="t1").trace
    second = ann.ask(GRINDER, turn_id="t2", session_id="s2").trace
    ann.ask("Hello?", turn_id="t3", policy="policies/conversation")
    page = appearances(client, ann.user, "fact/2", page_size=1)
    rest = appearances(client, ann.user, "fact/2", page_size=5, page_token=page.next_page_token)
    found = [*page.appearances, *rest.appearances]
    assert [(a.trace, a.turn_id, a.session_id) for a in found] == [(second, "t2", "s2"), (first, "t1", "s1")]
    assert all(a.outcome == trace_pb2.OUTCOME_INCLUDED and a.location.length > 0 for a in found)
    assert not appearances(client, ann.user, "fact/1").appearances
    dates = appearances(client, ann.user, "archived-session/s-older").appearances
    assert [a.trace for a in dates] == [second, first]


def test_a_text_of_the_policy_is_no_users(client: Client, ann: Customer):
    assert refusal(lambda: appearances(client, ann.user, "policy/facts.heading"))[0] == "INVALID_ARGUMENT"


def _quoted(customer: Customer) -> str:
    return customer.user_id.replace("@", "%40")
