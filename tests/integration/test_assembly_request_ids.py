"""AssembleContext under a request id: a repeat is answered alike for a day, another body is refused."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from muniment.v1 import context_pb2, trace_pb2, types_pb2
from tests.integration.in_process import Gateway, gateway_at
from tests.integration.requests import REQUEST_ID, SESSION, TENANT, context_request

UNNAMED = types_pb2.SessionRef(tenant_id=TENANT, user_id="ada")


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    async with gateway_at(tmp_path) as opened:
        await opened.use_desk()
        yield opened


def request(
    text: str, turn_id: str, session: types_pb2.SessionRef = SESSION, request_id: str = REQUEST_ID
) -> context_pb2.AssembleContextRequest:
    asked = context_request(text, turn_id, session)
    asked.request_id = request_id
    return asked


async def traces(gateway: Gateway) -> list[str]:
    listed: Any = await gateway.call("ListTraces", trace_pb2.ListTracesRequest(tenant_id=TENANT))
    return [found.name for found in listed.traces]


async def refuses(gateway: Gateway, asked: context_pb2.AssembleContextRequest) -> None:
    refusal = await gateway.refusal("AssembleContext", asked)
    assert (refusal.code, refusal.reason) == ("ALREADY_EXISTS", "REQUEST_ID_REUSED")


async def test_a_repeat_gets_the_first_answer_and_leaves_no_second_trace(gateway: Gateway):
    first = await gateway.call("AssembleContext", request("What is new?", "t1"))
    again = await gateway.call("AssembleContext", request("What is new?", "t1"))
    assert (again.trace, again.prompt) == (first.trace, first.prompt)
    assert await traces(gateway) == [first.trace]


async def test_another_turn_of_the_same_session_is_refused_and_leaves_nothing(gateway: Gateway):
    first = await gateway.call("AssembleContext", request("What is new?", "t1"))
    await refuses(gateway, request("And the plan?", "t2"))
    assert await traces(gateway) == [first.trace]
    free = await gateway.call("AssembleContext", context_request("And the plan?", "t2"))
    assert await traces(gateway) == [free.trace, first.trace]


async def test_another_body_of_the_same_turn_is_a_matter_of_the_request_id(gateway: Gateway):
    await gateway.call("AssembleContext", request("What is new?", "t1"))
    await refuses(gateway, request("And the plan?", "t1"))


async def test_it_holds_where_the_session_is_named_after_the_request_id(gateway: Gateway):
    first = await gateway.call("AssembleContext", request("What is new?", "t1", UNNAMED))
    again = await gateway.call("AssembleContext", request("What is new?", "t1", UNNAMED))
    assert again.trace == first.trace
    await refuses(gateway, request("And the plan?", "t1", UNNAMED))


async def test_after_a_day_the_id_is_free(gateway: Gateway):
    await gateway.call("AssembleContext", request("What is new?", "t1"))
    gateway.passes(hours=23)
    await refuses(gateway, request("And the plan?", "t2"))
    gateway.passes(hours=1)
    assert await gateway.code("AssembleContext", request("And the plan?", "t2")) == "OK"


async def test_a_request_that_was_refused_does_not_take_its_id(gateway: Gateway):
    asked = request("What is new?", "t1")
    asked.budget.max_input_tokens = 1
    assert (await gateway.refusal("AssembleContext", asked)).reason == "BUDGET_TOO_SMALL"
    assert await gateway.code("AssembleContext", request("What is new?", "t1")) == "OK"


async def test_what_is_only_validated_does_not_take_its_id(gateway: Gateway):
    asked = request("What is new?", "t1")
    asked.validate_only = True
    assert await gateway.code("AssembleContext", asked) == "OK"
    assert await gateway.code("AssembleContext", request("And the plan?", "t2")) == "OK"
