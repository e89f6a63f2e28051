"""The quick yes never says more than the whole validation, and does say it for requests as they come every day."""

from typing import Any, cast

import protovalidate
import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import InvalidArgument
from gateway.server.plain_requests import plain
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

T = types_pb2
VALIDATOR = protovalidate.Validator()
MODULES: list[Any] = [
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_service_pb2,
    prefix_pb2,
    session_pb2,
    trace_pb2,
]


def descriptor_of(kind: type[Message]) -> Descriptor:
    return cast("Descriptor", kind.DESCRIPTOR)


PLAIN = {
    kind: plain(descriptor_of(kind), VALIDATOR)
    for kind in (
        GetMessageClass(method.input_type)
        for module in MODULES
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    )
}
ASSEMBLE = context_pb2.AssembleContextRequest
TEXTS = st.text(max_size=12) | st.sampled_from(
    ("", "a", "a" * 128, "a" * 129, "a\n", "é" * 128, "x" * 1024, "x" * 1025, "Europe/Berlin", "Mars/Base")
)


def request(**changes: Any) -> ASSEMBLE:
    turn: dict[str, Any] = {
        "turn_id": "t",
        "role": T.ROLE_USER,
        "contents": [T.Content(text="How are their terms?")],
    }
    own = {name: changes.pop(name) for name in list(changes) if name in T.Turn.DESCRIPTOR.fields_by_name}
    session = T.SessionRef(tenant_id="acme", user_id="u@example", session_id="s")
    return ASSEMBLE(**({"session": session, "turn": T.Turn(**(turn | own))} | changes))


def is_refused(message: Message) -> bool:
    descriptor: Any = message.DESCRIPTOR
    try:
        check(descriptor, message)
    except InvalidArgument:
        return True
    return False


@pytest.mark.parametrize(
    "message",
    [
        request(),
        request(session=T.SessionRef(tenant_id="acme", user_id="u")),
        request(contents=[T.Content(text="")] * 64, speaker="Ann"),
        request(occur_time=Timestamp(seconds=1)),
        request(time_zone="Europe/Berlin", policy="policies/memory", validate_only=True),
        request(model=T.ModelProfile(provider="openai", model="gpt-4o")),
        request(material=[context_pb2.Material(text="x", source="crm")]),
    ],
)
def test_an_everyday_request_is_plain(message: Message):
    assert PLAIN[ASSEMBLE](message)
    assert not is_refused(message)


@pytest.mark.parametrize(
    "message",
    [
        ASSEMBLE(),
        request(turn_id=""),
        request(turn_id="t\n"),
        request(turn_id="t" * 129),
        request(role=0),
        request(role=99),
        request(contents=[]),
        request(contents=[T.Content()]),
        request(contents=[T.Content(text="x")] * 65),
        request(contents=[T.Content(text="x" * 65_537)]),
        request(speaker="x" * 129),
        request(policy="x" * 1025),
        request(time_zone="Mars/Base"),
        request(occur_time=Timestamp(seconds=1 << 60)),
        request(material=[context_pb2.Material(text="x")]),
        request(model=T.ModelProfile(provider="openai")),
        request(contents=[T.Content(tool_call=T.ToolCall(call_id="c", tool_name="t", arguments_json="["))]),
        request(caller_breakpoints=5),
        request(formats=[1, 1]),
        request(labels={"UPPER": "x"}),
        request(request_id="no uuid"),
    ],
)
def test_a_request_that_breaks_a_rule_is_not_plain(message: Message):
    assert is_refused(message)
    assert not PLAIN[ASSEMBLE](message)


@given(
    st.builds(T.SessionRef, tenant_id=TEXTS, user_id=TEXTS, session_id=TEXTS),
    st.builds(
        T.Turn,
        turn_id=TEXTS,
        role=st.integers(-1, 7),
        contents=st.lists(st.builds(T.Content, text=TEXTS) | st.just(T.Content()), max_size=3),
        occur_time=st.none() | st.builds(Timestamp, seconds=st.integers(-(2**40), 2**40)),
        speaker=TEXTS,
    ),
    TEXTS,
    TEXTS,
)
def test_whatever_is_plain_is_valid(session: Any, turn: Any, policy: str, zone: str):
    message = ASSEMBLE(session=session, turn=turn, policy=policy, time_zone=zone)
    assert not (PLAIN[ASSEMBLE](message) and is_refused(message))


@given(st.sampled_from(list(PLAIN)), st.binary(max_size=200))
def test_of_any_bytes_what_is_plain_is_valid(kind: type[Message], body: bytes):
    try:
        message = kind.FromString(body)
    except DecodeError:
        return
    assert not (PLAIN[kind](message) and is_refused(message))


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3))
def test_of_a_plain_request_with_changed_bytes_what_is_plain_is_valid(changes: list[tuple[int, int]]):
    body = bytearray(request(speaker="Ann", time_zone="UTC", policy="p").SerializeToString())
    for place, value in changes:
        body[place % len(body)] = value
    try:
        message = ASSEMBLE.FromString(bytes(body))
    except DecodeError:
        return
    assert not (PLAIN[ASSEMBLE](message) and is_refused(message))
