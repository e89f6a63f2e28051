"""Tool loops through the API: calls and results together, in any order, late, partly, twice or without a question.

P19, P21 and B13 need the CONVERSATION section for past loops; these hold them for the open turn.
"""

import pytest

from muniment.v1 import context_pb2, types_pb2
from tests.integration.in_process import Gateway, Refused
from tests.integration.requests import DESK
from tests.integration.talk import Person, called, returned, said, use_policy

CONVERSATION = "{policy_id: bare, sections: [{session: {}}, {question: {}}]}"


def result_request(person: Person, turn: types_pb2.Turn) -> context_pb2.AssembleContextRequest:
    return context_pb2.AssembleContextRequest(session=person.session(), turn=turn)


async def answer_results(person: Person, turn: types_pb2.Turn) -> context_pb2.AssembleContextResponse:
    answer: context_pb2.AssembleContextResponse = await person.gateway.call(
        "AssembleContext", result_request(person, turn)
    )
    return answer


async def refuse_results(person: Person, turn: types_pb2.Turn) -> Refused:
    return await person.gateway.refusal("AssembleContext", result_request(person, turn))


def pairs(answer: context_pb2.AssembleContextResponse) -> list[tuple[str, str]]:
    """Calls and results in the order of the prompt."""
    contents = [part.content for message in answer.prompt.messages for part in message.parts]
    return [
        (kind, getattr(content, kind).call_id)
        for content in contents
        if (kind := content.WhichOneof("content") or "") != "text"
    ]


@pytest.mark.parametrize("policy", [DESK, CONVERSATION], ids=["kept", "not kept"])
async def test_p21_five_steps_of_parallel_calls_with_results_in_another_order(
    gateway: Gateway, ada: Person, policy: str
):
    await use_policy(gateway, policy)
    await ada.ask("Find the three suppliers.", turn_id="q")
    told: list[tuple[str, str]] = []
    for step in range(5):
        calls, results = [f"c{step}{n}" for n in "xyz"], [f"c{step}{n}" for n in "zxy"]
        await ada.record(called(f"a{step}", *calls))
        answer = await answer_results(ada, returned(f"r{step}", *results))
        told += [("tool_call", c) for c in calls] + [("tool_result", r) for r in results]
        assert pairs(answer) == told
        assert await ada.replays(answer)


async def test_a_result_that_comes_after_the_next_question_blocks_no_later_loop(ada: Person):
    await ada.ask("First?", turn_id="q1")
    await ada.record(called("a1", "late"))
    await ada.ask("Never mind. Second?", turn_id="q2")
    await ada.record(returned("r1", "late"), called("a2", "c2"))
    answer = await answer_results(ada, returned("r2", "c2"))
    assert pairs(answer) == [("tool_call", "c2"), ("tool_result", "c2")]
    assert "late" not in str(answer.prompt)


@pytest.mark.parametrize(
    ("turn", "field", "call_id"),
    [
        (returned("r", "unknown"), "turn.contents[0].tool_result.call_id", "unknown"),
        (returned("r", "x", "y", "x"), "turn.contents[2].tool_result.call_id", "x"),
    ],
    ids=["unknown", "twice"],
)
async def test_a_result_without_a_waiting_call_is_told_by_its_place(
    ada: Person, turn: types_pb2.Turn, field: str, call_id: str
):
    await ada.ask("Look it up.", turn_id="q")
    await ada.record(called("a", "x", "y"))
    refused = await refuse_results(ada, turn)
    assert (refused.code, refused.reason) == ("FAILED_PRECONDITION", "TOOL_CALL_UNKNOWN")
    assert dict(refused.info.metadata) == {"field": field, "call_id": call_id}


async def test_calls_without_results_are_told_all_at_once(ada: Person):
    await ada.ask("Look it up.", turn_id="q")
    await ada.record(called("a", "x", "y", "z"))
    refused = await refuse_results(ada, returned("r", "y"))
    assert (refused.code, refused.reason) == ("FAILED_PRECONDITION", "TOOL_RESULTS_MISSING")
    assert dict(refused.info.metadata) == {"call_ids": "x,z"}
    await ada.record(returned("early", "x"))
    assert len(pairs(await answer_results(ada, returned("r", "y", "z")))) == 6


async def test_a_result_before_any_question_is_refused(ada: Person):
    refused = await refuse_results(ada, returned("r", "x"))
    assert (refused.code, refused.reason) == ("FAILED_PRECONDITION", "TOOL_CALL_UNKNOWN")
    assert dict(refused.info.metadata) == {"field": "turn", "call_id": "x"}


async def test_b11_p19_every_budget_keeps_call_and_result_or_refuses(ada: Person):
    await ada.ask("Look it up.", turn_id="q")
    await ada.record(called("a", "x", "y", arguments='{"number":"2026-114"}'))
    code = ""
    for limit in range(0, 200, 9):
        request = result_request(ada, returned(f"r{limit}", "y", "x"))
        request.budget.max_input_tokens = limit
        request.session.session_id = "s1"
        code = await ada.gateway.code("ExplainContext", context_pb2.ExplainContextRequest(request=request))
        assert code in {"OK", "FAILED_PRECONDITION"}
        if code == "OK":
            dry = await ada.gateway.call("ExplainContext", context_pb2.ExplainContextRequest(request=request))
            assert [call for _, call in pairs(dry)] == ["x", "y", "y", "x"]
    assert code == "OK"


async def test_the_same_tool_turn_again_gives_the_same_answer(ada: Person):
    await ada.ask("Look it up.", turn_id="q")
    await ada.record(called("a", "x"))
    first = await answer_results(ada, returned("r", "x"))
    await ada.record(said("Thanks.", "q2"))
    assert await answer_results(ada, returned("r", "x")) == first
    other = await refuse_results(ada, returned("r", "x", result='"other"'))
    assert (other.code, other.reason) == ("ALREADY_EXISTS", "TURN_ID_REUSED")
