"""Answers and errors of the API become what the checker takes; ids are such that a careless key would mix people up."""

import grpc
import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc.aio import Metadata

from benchmarks.faults import scene
from benchmarks.faults.outcomes import FACT_KEYS, Shown
from benchmarks.faults.people import Canary, canaries, people
from benchmarks.faults.reading import answer_of, failure_of
from muniment.v1 import context_pb2, prompt_pb2, types_pb2

ANN = people(run=1, more=0)[0]


def failed(code: grpc.StatusCode, *details: Message) -> grpc.aio.AioRpcError:
    packed = []
    for detail in details:
        one = Any()
        one.Pack(detail)
        packed.append(one)
    trailing = Metadata(("grpc-status-details-bin", status_pb2.Status(details=packed).SerializeToString()))
    return grpc.aio.AioRpcError(code, Metadata(), trailing)


def test_a_degradation_counts_for_the_status_of_its_section():
    report = prompt_pb2.BudgetReport(
        sections=[
            prompt_pb2.SectionReport(
                section=types_pb2.SECTION_KIND_FACTS, status=types_pb2.SECTION_STATUS_EMPTY
            ),
            prompt_pb2.SectionReport(
                section=types_pb2.SECTION_KIND_QUESTION, status=types_pb2.SECTION_STATUS_OK
            ),
        ]
    )
    missing = prompt_pb2.Degradation(
        section=types_pb2.SECTION_KIND_FACTS,
        status=types_pb2.SECTION_STATUS_UNAVAILABLE,
        reason=prompt_pb2.REASON_LATE,
    )
    response = context_pb2.AssembleContextResponse(
        prompt=prompt_pb2.Prompt(budget_report=report), degradations=[missing]
    )
    assert answer_of(response).sections == {
        "FACTS": Shown("UNAVAILABLE", "LATE"), "QUESTION": Shown("OK"),
    }  # fmt: skip


def test_canaries_are_found_in_messages_and_slots_and_the_highest_fact_of_each_key_counts():
    facts = [Canary(1, 0, "f", number) for number in (2, 2 + FACT_KEYS, 3)]
    part = prompt_pb2.Part(content=types_pb2.Content(text=" ".join(map(str, facts))))
    slot = types_pb2.Filter(key="mark", value=str(Canary(1, 0, "s", 9)))
    response = context_pb2.AssembleContextResponse(
        prompt=prompt_pb2.Prompt(messages=[prompt_pb2.Message(parts=[part])]),
        slots=types_pb2.Slots(
            filters=[slot],
            recent_questions=[types_pb2.RecentQuestion(text=f"why? {Canary(1, 5, 'q', 1)}")],
        ),
    )
    answer = answer_of(response)
    assert (answer.facts, answer.slot) == ({2: 2 + FACT_KEYS, 3: 3}, 9)
    assert {one.person for one in answer.canaries} == {0, 5}


def test_a_failure_of_ours_has_a_reason_and_says_whether_to_try_again():
    info = error_details_pb2.ErrorInfo(reason="STORAGE_UNAVAILABLE", domain="muniment.v1")
    unavailable = grpc.StatusCode.UNAVAILABLE
    assert failure_of(failed(unavailable, info)) == ("UNAVAILABLE", "STORAGE_UNAVAILABLE", False)
    retry = failed(unavailable, info, error_details_pb2.RetryInfo())
    assert failure_of(retry) == ("UNAVAILABLE", "STORAGE_UNAVAILABLE", True)


def test_a_failure_of_the_transport_has_no_reason():
    assert failure_of(failed(grpc.StatusCode.UNAVAILABLE)) == ("UNAVAILABLE", "", False)


def test_people_s_ids_meet_when_they_are_joined_with_colons_or_without_their_tenants():
    everybody = people(run=1, more=2)
    users = {(one.tenant_id, one.user_id) for one in everybody}
    assert len(users) == len(everybody)
    assert len({f"{tenant}:{user}" for tenant, user in users}) < len(users)
    sessions = {(one.tenant_id, one.user_id, one.session_id) for one in everybody}
    assert len({":".join(parts) for parts in sessions}) < len(sessions)
    assert len({user for _, user in users}) < len(users)


@pytest.mark.parametrize("kind", ["f", "s", "q", "r", "h"])
def test_a_canary_is_read_back_as_it_was_written(kind: str):
    canary = Canary(3, 14, kind, 159)
    assert list(canaries([f"before {canary}after", "none"])) == [canary]


def test_every_text_of_the_traffic_says_whose_it_is():
    texts = [
        scene.ask(ANN, 7).turn.contents[0].text,
        scene.record_fact(ANN, 7).facts[0].text,
        scene.record_turn(ANN, 7).turns[0].contents[0].text,
        scene.set_slot(ANN, 7).slots.filters[0].value,
    ]
    assert [(one.run, one.person, one.number) for one in canaries(texts)] == [(1, ANN.number, 7)] * 4
