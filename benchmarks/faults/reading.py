"""Reads what a call brought into the records that the checker takes."""

from collections.abc import Iterator

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from benchmarks.faults.outcomes import FACT_KEYS, Answer, Shown
from benchmarks.faults.people import FACT, SLOT, canaries
from muniment.v1 import context_pb2, prompt_pb2, types_pb2

_DETAILS_KEY = "grpc-status-details-bin"


def answer_of(response: context_pb2.AssembleContextResponse) -> Answer:
    """What an assembled prompt shows."""
    found = tuple(canaries(_texts(response)))
    slots = [one.number for one in canaries(f.value for f in response.slots.filters) if one.kind == SLOT]
    facts: dict[int, int] = {}
    for one in found:
        if one.kind == FACT:
            key = one.number % FACT_KEYS
            facts[key] = max(facts.get(key, -1), one.number)
    return Answer(
        response.trace, _sections(response), tuple(response.warnings), found, facts, max(slots, default=-1)
    )


def _texts(response: context_pb2.AssembleContextResponse) -> Iterator[str]:
    for message in response.prompt.messages:
        yield from (part.content.text for part in message.parts)
    yield from (slot.value for slot in response.slots.filters)
    yield from (question.text for question in response.slots.recent_questions)


def _sections(response: context_pb2.AssembleContextResponse) -> dict[str, Shown]:
    """The statuses of the report, and over them what the degradations say."""
    shown = {
        _section(line.section): Shown(_status(line.status)) for line in response.prompt.budget_report.sections
    }
    for one in response.degradations:
        reason = prompt_pb2.Reason.Name(one.reason).removeprefix("REASON_")
        shown[_section(one.section)] = Shown(_status(one.status), reason)
    return shown


def _section(number: types_pb2.SectionKind.ValueType) -> str:
    return types_pb2.SectionKind.Name(number).removeprefix("SECTION_KIND_")


def _status(number: types_pb2.SectionStatus.ValueType) -> str:
    return types_pb2.SectionStatus.Name(number).removeprefix("SECTION_STATUS_")


def failure_of(error: grpc.aio.AioRpcError) -> tuple[str, str, bool]:
    """The code, the reason ("" where the transport failed by itself) and whether it says when to try again."""
    reason, retry = "", False
    for packed in _status_of(error).details:
        info, delay = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        if packed.Unpack(info):
            reason = info.reason
        retry = retry or packed.Unpack(delay)
    return error.code().name, reason, retry


def _status_of(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                break
    return status_pb2.Status()
