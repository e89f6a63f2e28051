"""Faults that users of comparable software reported: whose data is read, ids, names, and messages that attack.

P3 and S21 for every store are held by storage/conformance/isolation.py, S31's stores by storage/conformance/texts.py.
"""

from collections.abc import Callable

import pytest
from google.protobuf import any_pb2, struct_pb2

from muniment.v1 import (
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_service_pb2,
    prefix_pb2,
    session_pb2,
    trace_pb2,
    types_pb2,
)
from tests.integration.in_process import Gateway
from tests.integration.requests import DESK, TENANT, context_request
from tests.integration.talk import (
    Person,
    facts,
    prompt_text,
    use_policy,
)

CountRows = Callable[[], dict[str, int]]


async def test_p1_ids_are_no_patterns(gateway: Gateway):
    people = [
        Person(gateway, user_id) for user_id in ("john-doe", "john_doe", "john.doe", "johnXdoe", "JOHN_DOE")
    ]
    for person in people:
        await person.state("note", f"belongs to {person.user_id}")
        await person.remember("old", f"The grinder of {person.user_id} jams.")
    for person in people:
        text = prompt_text(await person.ask("What about the grinder?"))
        shown = {other.user_id for other in people if f"belongs to {other.user_id}" in text}
        found = {other.user_id for other in people if f"grinder of {other.user_id} jams" in text}
        assert shown == found == {person.user_id}
    refused = await gateway.refusal(
        "AssembleContext", Person(gateway, "%").request("What about the grinder?")
    )
    assert refused.code == "INVALID_ARGUMENT"


async def test_p3_s21_every_read_gives_the_own_canary_only(gateway: Gateway):
    people = [Person(gateway, "u1"), Person(gateway, "u2"), Person(gateway, "u1", "other")]
    await gateway.call(
        "RegisterPrefixRevision",
        prefix_pb2.RegisterPrefixRevisionRequest(tenant_id="other", prefix_id="desk", text="Other."),
    )
    await use_policy(gateway, tenant_id="other")
    canaries = ["canaryone", "canarytwo", "canarythree"]
    for person, canary in zip(people, canaries, strict=True):
        await person.state("note", f"{canary} fact")
        await person.remember("old", f"{canary} excerpt about grinders")
        await person.ask(f"{canary} first question about grinders")
    for person, canary in zip(people, canaries, strict=True):
        answers = [
            await person.ask("And grinders?"),
            await gateway.call("ListFacts", fact_pb2.ListFactsRequest(user=person.user)),
            await gateway.call(
                "SearchHistory",
                history_pb2.SearchHistoryRequest(user=person.user, query="grinders"),
            ),
            await gateway.call("GetSession", session_pb2.GetSessionRequest(session=person.session())),
        ]
        traces = (
            await gateway.call(
                "ListTraces", trace_pb2.ListTracesRequest(tenant_id=person.tenant_id, user_id=person.user_id)
            )
        ).traces
        answers += [await gateway.call("GetTrace", trace_pb2.GetTraceRequest(name=t.name)) for t in traces]
        told = "".join(str(answer) for answer in answers)
        assert len(traces) == 2
        assert [c for c in canaries if c in told] == [canary]
        assert all(canary in str(answer) for answer in answers[:4])


async def test_p13_reading_creates_nothing(gateway: Gateway, ada: Person, count_rows: CountRows):
    await ada.ask("Hello?")
    before = count_rows()
    stranger = Person(gateway, "stranger")
    dry = context_pb2.ExplainContextRequest(request=stranger.request("Anything about me?"))
    assert facts(await gateway.call("ExplainContext", dry)) == ""
    await stranger.ask("Anything about me?", validate_only=True)
    await gateway.call("ListFacts", fact_pb2.ListFactsRequest(user=stranger.user))
    await gateway.call("SearchHistory", history_pb2.SearchHistoryRequest(user=stranger.user, query="me"))
    await gateway.call("GetSession", session_pb2.GetSessionRequest(session=stranger.session("never")))
    await gateway.call("ListTraces", trace_pb2.ListTracesRequest(tenant_id=TENANT, user_id="stranger"))
    await gateway.call(
        "ListAppearances", trace_pb2.ListAppearancesRequest(user=stranger.user, item_id="fact/1")
    )
    assert count_rows() == before


async def test_s25_a_request_without_an_id_is_refused_and_finds_no_other_session(
    gateway: Gateway, ada: Person
):
    await ada.ask("Hello?")
    for clear in ("tenant_id", "user_id"):
        request = context_request()
        request.session.ClearField(clear)
        refused = await gateway.refusal("AssembleContext", request)
        assert refused.violations.keys() == {f"session.{clear}"}
    nameless = session_pb2.GetSessionRequest(session=types_pb2.SessionRef(tenant_id=TENANT, user_id="ada"))
    assert (await gateway.refusal("GetSession", nameless)).code == "INVALID_ARGUMENT"


async def test_s31_ids_differ_by_case_and_trailing_marks(gateway: Gateway):
    people = [
        Person(gateway, user_id)
        for user_id in (
            "alice",
            "Alice",
            "ALICE",
            "alice.",
            "alice/",
            "a/lice",
            "alice=",
        )
    ]
    for number, person in enumerate(people):
        await person.state("note", f"mark{number}")
    for number, person in enumerate(people):
        shown = facts(await person.ask("Who?"))
        assert [n for n in range(len(people)) if f"mark{n}" in shown] == [number]


async def test_s35_deep_messages_are_refused_and_the_runtime_is_the_safe_one(gateway: Gateway):
    value = struct_pb2.Value(string_value="x")
    for _ in range(45):
        value = struct_pb2.Value(list_value=struct_pb2.ListValue(values=[value]))
    packed = any_pb2.Any()
    packed.Pack(value)
    body = context_request().SerializeToString()
    # As an unknown field: kept by no one, and not followed down.
    unknown = b"\xfa\x7f" + bytes([0x80 | (packed.ByteSize() & 0x7F), packed.ByteSize() >> 7])
    assert await gateway.raw("AssembleContext", body + unknown + packed.SerializeToString())
    groups = b"\xfb\x7f" * 200 + b"\xfc\x7f" * 200
    assert (await gateway.refusal("AssembleContext", body + groups)).reason == "MALFORMED_REQUEST"


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "tenants/acme/policies/../../x", "tenants/acme/prefixes/%2e%2e%2fx/revisions/y"],
)
@pytest.mark.parametrize("method", ["GetPolicy", "GetPrefixRevision", "GetTrace", "GetFact"])
async def test_s41_names_are_no_paths(gateway: Gateway, method: str, name: str):
    types = {
        "GetPolicy": policy_service_pb2.GetPolicyRequest,
        "GetPrefixRevision": prefix_pb2.GetPrefixRevisionRequest,
        "GetTrace": trace_pb2.GetTraceRequest,
        "GetFact": fact_pb2.GetFactRequest,
    }
    refused = await gateway.refusal(method, types[method](name=name))
    assert refused.code == "INVALID_ARGUMENT"
    assert refused.violations.keys() == {"name"}


@pytest.mark.parametrize("name", ["..", ".", "a/../b", "-", "con"])
async def test_s41_an_id_that_looks_like_a_path_is_an_id(gateway: Gateway, name: str):
    yaml = DESK.replace("policy_id: desk", f"policy_id: '{name}'")
    await use_policy(gateway, yaml)
    assert (await Person(gateway).ask("Hello?")).policy_revision.startswith(f"tenants/{TENANT}/policies/")
