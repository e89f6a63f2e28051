"""Whatever bytes come, the answer is a request, a fixed text or violations by path: never another exception."""

from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import FieldViolation, InvalidArgument
from gateway.server.content_rules import holds_nul
from gateway.server.json_rules import JsonFault, parse_json
from gateway.server.validation import check
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

MODULES: list[Any] = [
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_service_pb2,
    prefix_pb2,
    session_pb2,
    trace_pb2,
]
REQUESTS = [
    GetMessageClass(method.input_type)
    for module in MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
SEED = context_pb2.AssembleContextRequest(
    session=types_pb2.SessionRef(tenant_id="acme", user_id="u", session_id="s"),
    turn=types_pb2.Turn(
        turn_id="t",
        role=types_pb2.ROLE_TOOL,
        contents=[
            types_pb2.Content(
                tool_result=types_pb2.ToolResult(call_id="c", tool_name="t", result_json='{"a":[1]}')
            )
        ],
    ),
    material=[context_pb2.Material(text="m", source="doc")],
    labels={"team": "a"},
    time_zone="Europe/Berlin",
    request_id="6f1c2a00-6f1c-4a00-8f1c-6f1c2a006f1c",
).SerializeToString()


def exists(message: Message, path: str) -> bool:
    """Whether the path leads through the message's descriptors."""
    descriptor: Any = message.DESCRIPTOR
    for name in path.split("."):
        plain = name.split("[")[0]
        if plain in descriptor.oneofs_by_name:
            return True
        field = descriptor.fields_by_name.get(plain)
        if field is None:
            return False
        descriptor = field.message_type
    return True


def judge(kind: type[Message], body: bytes) -> None:
    """Decode and check; anything but the typed outcomes fails the test."""
    try:
        request = kind.FromString(body)
    except DecodeError:
        return
    holds_nul(request)
    descriptor: Any = request.DESCRIPTOR
    violations: tuple[FieldViolation, ...] = ()
    try:
        check(descriptor, request)
    except InvalidArgument as refused:
        violations = refused.violations
    assert all(exists(request, v.field) for v in violations if v.field)
    assert all(v.description for v in violations)


@pytest.mark.parametrize("kind", REQUESTS, ids=lambda kind: kind.DESCRIPTOR.name)
def test_an_empty_request_is_refused_by_field_unless_nothing_is_required(kind):
    with pytest.raises(InvalidArgument) as refused:
        check(kind.DESCRIPTOR, kind())
    assert all(exists(kind(), violation.field) for violation in refused.value.violations)


@given(st.sampled_from(REQUESTS), st.binary(max_size=200))
def test_any_bytes_have_a_typed_outcome(kind, body):
    judge(kind, body)


@given(st.lists(st.tuples(st.integers(0, len(SEED) - 1), st.integers(0, 255)), max_size=4))
def test_a_valid_request_with_changed_bytes_has_a_typed_outcome(changes):
    body = bytearray(SEED)
    for position, value in changes:
        body[position] = value
    judge(context_pb2.AssembleContextRequest, bytes(body))


@given(st.text(max_size=200), st.text(max_size=70))
def test_any_text_as_json_and_as_time_zone_has_a_typed_outcome(text, zone):
    request = context_pb2.AssembleContextRequest.FromString(SEED)
    request.turn.contents[0].tool_result.result_json = text
    request.time_zone = zone
    judge(context_pb2.AssembleContextRequest, request.SerializeToString())


@given(st.text(alphabet='[]{}",:\\u0123456789eE+-.dc aNtrufls', max_size=60))
def test_json_is_either_parsed_or_refused_with_a_remedy(text):
    words = "parsed: yes"
    try:
        parse_json(text)
    except JsonFault as fault:
        words = str(fault)
    assert ": " in words
