"""Values of the right form that mean nothing, or fit nothing: what the server says of them."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
from google.protobuf.message import Message

from muniment.v1 import context_pb2, fact_pb2, history_pb2, types_pb2
from tests.integration.in_process import START, Gateway, gateway_at
from tests.integration.requests import (
    GOOD,
    MODEL,
    TENANT,
    USER,
    context_request,
    fact,
    facts_request,
    import_request,
    past_session,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

AHEAD = int(START.timestamp()) + 3600
BLANKS = [
    "",
    " ",
    "\n\t",
    "\u200b\u200c\u200d",
    "\u3164",
    "\u00ad",
    "\U000e0041",
    "\x1b[0m",
    "\u2800".replace("\u2800", "\u2060"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gateway]:
    async with gateway_at(tmp_path_factory.mktemp("data")) as opened:
        await opened.use_desk()
        yield opened


def spoilt(request: Message, change: Callable[[Any], None]) -> Any:
    copy = type(request)()
    copy.CopyFrom(request)
    change(copy)
    return copy


def role(number: types_pb2.Role.ValueType) -> Callable[[Any], None]:
    return lambda request: setattr(request.turn, "role", number)


def with_result(request: Any) -> None:
    request.turn.contents.add(
        tool_result=types_pb2.ToolResult(call_id="c", tool_name="lookup", result_json="1")
    )


def with_call(request: Any) -> None:
    request.turn.contents.add(tool_call=types_pb2.ToolCall(call_id="c", tool_name="lookup"))


def with_model(**fields: Any) -> Callable[[Any], None]:
    def change(request: Any) -> None:
        request.model.CopyFrom(MODEL)
        for name, value in fields.items():
            setattr(request.model, name, value)

    return change


def reserving(tokens: int) -> Callable[[Any], None]:
    def change(request: Any) -> None:
        with_model(context_window_tokens=100)(request)
        request.budget.reserve_output_tokens = tokens

    return change


def ahead(path: str) -> Callable[[Any], None]:
    """Sets an instant of the request to an hour from now."""

    def change(request: Any) -> None:
        message = request
        for name in path.split("."):
            message = message[int(name)] if name.isdigit() else getattr(message, name)
        message.seconds = AHEAD

    return change


ASK = context_request()
CONTEXT_CASES = [
    (role(types_pb2.ROLE_SYSTEM), "turn.role", "register fixed instructions as a prefix"),
    (role(types_pb2.ROLE_DEVELOPER), "turn.role", "send the USER's question"),
    (role(types_pb2.ROLE_ASSISTANT), "turn.role", "record the model's answers with RecordTurns"),
    (role(types_pb2.ROLE_TOOL), "turn.contents", "holds tool results"),
    (with_result, "turn.contents", "holds texts only"),
    (with_call, "turn.contents", "holds texts only"),
    (with_model(tokenizer="nope"), "model.tokenizer", "choose one of o200k_base"),
    (reserving(101), "budget.reserve_output_tokens", "reserve less"),
    (lambda request: setattr(request, "time_zone", "localtime"), "time_zone", "Europe/Berlin"),
    (lambda request: setattr(request, "time_zone", "posix/Europe/Berlin"), "time_zone", "Europe/Berlin"),
    (lambda request: setattr(request, "time_zone", "europe/berlin"), "time_zone", "Europe/Berlin"),
]


@pytest.mark.parametrize(("change", "field", "remedy"), CONTEXT_CASES)
async def test_a_turn_that_cannot_be_answered_is_told(gateway, change, field, remedy):
    request = spoilt(ASK, change)
    refused = await gateway.refusal("AssembleContext", request)
    assert (refused.code, refused.info.metadata["field"]) == ("INVALID_ARGUMENT", field)
    assert remedy in refused.violations[field]
    dry = await gateway.refusal("ExplainContext", context_pb2.ExplainContextRequest(request=request))
    assert dry.violations == {f"request.{field}": refused.violations[field]}
    assert dry.info.metadata["field"] == f"request.{field}"


@pytest.mark.parametrize("blank", BLANKS)
async def test_a_text_in_which_a_reader_sees_nothing_is_refused(gateway, blank):
    asked = await gateway.refusal("AssembleContext", context_request(blank))
    assert asked.violations == {"turn.contents": "the question is blank: send the user's text"}
    told = await gateway.refusal("RecordFacts", facts_request(fact(), fact(text=blank or " ")))
    assert "blank" in told.violations["facts[1].text"]
    searched = await gateway.refusal(
        "SearchHistory", history_pb2.SearchHistoryRequest(user=USER, query=blank or " ")
    )
    assert "blank" in searched.violations["query"]


@pytest.mark.parametrize(
    ("method", "request_", "path", "field"),
    [
        ("AssembleContext", GOOD["AssembleContext"], "material.0.read_time", "material[0].read_time"),
        ("RecordFacts", GOOD["RecordFacts"], "facts.0.read_time", "facts[0].read_time"),
        ("ImportHistory", GOOD["ImportHistory"], "sessions.0.start_time", "sessions[0].start_time"),
        (
            "ImportHistory",
            GOOD["ImportHistory"],
            "sessions.0.turns.0.occur_time",
            "sessions[0].turns[0].occur_time",
        ),
    ],
)
async def test_the_future_is_refused_where_something_was_read_or_said(gateway, method, request_, path, field):
    refused = await gateway.refusal(method, spoilt(request_, ahead(path)))
    assert "lies in the future" in refused.violations[field]


@pytest.mark.parametrize(
    ("sessions", "field"),
    [
        ([past_session("a", "x"), past_session("a", "y")], "sessions[1].session_id"),
        ([past_session("a", "x", "y")], "sessions[0].turns[1].turn_id"),
    ],
)
async def test_what_occurs_twice_in_an_import_is_told_by_its_place(gateway, sessions, field):
    for turn in sessions[-1].turns:
        turn.turn_id = "same"
    refused = await gateway.refusal("ImportHistory", import_request(*sessions))
    assert refused.violations.keys() == {field}


async def test_a_period_that_ends_before_it_begins_is_refused(gateway):
    request = fact_pb2.InvalidateFactsRequest(user=USER, key="note", reason="r")
    request.start_time.seconds, request.end_time.seconds = 2_000, 1_000
    assert "end_time" in (await gateway.refusal("InvalidateFacts", request)).violations


@pytest.mark.parametrize(
    "policy", ["nope", "policies/nope", f"tenants/{TENANT}/policies/nope", "tenants/x/policies/desk"]
)
@pytest.mark.parametrize(
    "method",
    [
        "AssembleContext",
        "RecordTurns",
        "UpdateSlots",
        "EndSession",
        "RecordFacts",
        "ImportHistory",
        "SearchHistory",
    ],
)
async def test_an_unknown_policy_and_a_foreign_one_are_told_in_the_same_words(gateway, method, policy):
    request = spoilt(GOOD[method], lambda r: setattr(r, "policy", policy))
    refused = await gateway.refusal(method, request)
    assert (refused.code, refused.reason) == ("FAILED_PRECONDITION", "POLICY_UNUSABLE")
    assert refused.message.startswith(
        "policy: there is no active policy or revision of that name in this tenant"
    )


async def test_a_text_too_long_to_be_counted_is_told_by_its_place(gateway):
    request = context_pb2.CountTokensRequest(tenant_id=TENANT, model=MODEL, texts=["a", " " * 300_000])
    assert "break it into lines" in (await gateway.refusal("CountTokens", request)).violations["texts[1]"]
