"""Both sides of every limit that an annotation sets, through the engine that the server validates with."""

import string
from collections.abc import Iterator
from typing import Literal

import protovalidate
import pytest
from buf.validate import validate_pb2
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from muniment.v1 import (
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_pb2,
    policy_service_pb2,
    prefix_pb2,
    session_pb2,
    trace_pb2,
    types_pb2,
)

FILES = (
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_pb2,
    policy_service_pb2,
    prefix_pb2,
    session_pb2,
    trace_pb2,
    types_pb2,
)
ID = "^[A-Za-z0-9._:@|+=/-]{1,128}$"
ID_OR_EMPTY = "^[A-Za-z0-9._:@|+=/-]{0,128}$"
ID_CHARACTERS = string.ascii_letters + string.digits + "._:@|+=/-"


def violations(message: Message, field: str) -> list[str]:
    """The ids of the rules of `field` itself that the message breaks; other fields may be empty."""
    found = [v.proto for v in protovalidate.collect_violations(message)]
    return [v.rule_id for v in found if v.field and [e.field_name for e in v.field.elements] == [field]]


def fields() -> Iterator[FieldDescriptor]:
    """Every field of the contract, nested messages included."""
    pending = [m for f in FILES for m in f.DESCRIPTOR.message_types_by_name.values()]
    while pending:
        message: Descriptor = pending.pop()
        pending += message.nested_types
        yield from message.fields


def rules(field: FieldDescriptor) -> validate_pb2.FieldRules:
    return field.GetOptions().Extensions[validate_pb2.field]


def empty(field: FieldDescriptor) -> Message:
    """A message of the type that has the field."""
    assert field.containing_type is not None
    return message_factory.GetMessageClass(field.containing_type)()


def with_value(field: FieldDescriptor, value: object) -> Message:
    message = empty(field)
    if field.is_repeated:
        getattr(message, field.name).extend(value)
    else:
        setattr(message, field.name, value)
    return message


def strings(rule: Literal["pattern", "max_len", "max_bytes", "min_len"]) -> list[FieldDescriptor]:
    return [
        f
        for f in fields()
        if f.type == FieldDescriptor.TYPE_STRING and not f.is_repeated and rules(f).string.HasField(rule)
    ]


def each(found: list[FieldDescriptor]) -> pytest.MarkDecorator:
    """Run a test for each of the fields, under their names."""
    return pytest.mark.parametrize(
        "field", found, ids=[f.full_name.removeprefix("muniment.v1.") for f in found]
    )


@each([f for f in strings("pattern") if rules(f).string.pattern in {ID, ID_OR_EMPTY}])
def test_ids_have_128_characters_of_a_closed_set(field):
    assert violations(with_value(field, "x" * 128), field.name) == []
    assert violations(with_value(field, ID_CHARACTERS), field.name) == []
    assert violations(with_value(field, "x" * 129), field.name) == ["string.pattern"]
    for bad in ("a b", "a\n", "ä", "a\u200b", "%", "a\x00", "а"):
        assert violations(with_value(field, bad), field.name) == ["string.pattern"], bad


@each([f for f in strings("pattern") if rules(f).string.pattern == ID])
def test_required_ids_are_not_empty(field):
    if not field.has_presence:
        assert violations(with_value(field, ""), field.name) == ["string.pattern"]
    else:
        assert set(violations(with_value(field, ""), field.name)) <= {"string.pattern", "required"}


@each(strings("max_len"))
def test_a_limit_in_characters_counts_characters(field):
    limit = rules(field).string.max_len
    assert violations(with_value(field, "x" * limit), field.name) == []
    assert violations(with_value(field, "語" * limit), field.name) == []
    assert violations(with_value(field, "x" * (limit + 1)), field.name) == ["string.max_len"]


@each(strings("max_bytes"))
def test_a_limit_in_bytes_counts_utf8_bytes(field):
    limit = rules(field).string.max_bytes
    assert violations(with_value(field, "x" * limit), field.name) == []
    assert violations(with_value(field, "x" * (limit + 1)), field.name) == ["string.max_bytes"]
    assert violations(with_value(field, "語" * (limit // 3 + 1)), field.name) == ["string.max_bytes"]


@each(strings("min_len"))
def test_a_required_text_is_not_empty(field):
    assert "string.min_len" in violations(with_value(field, ""), field.name)


INT32S = [f for f in fields() if f.type == FieldDescriptor.TYPE_INT32 and rules(f).HasField("int32")]


@each(INT32S)
def test_whole_numbers_have_both_ends(field):
    rule = rules(field).int32
    least = rule.gt + 1 if rule.HasField("gt") else rule.gte
    most = rule.lte if rule.HasField("lte") else 2**31 - 1
    assert violations(with_value(field, least), field.name) == []
    assert violations(with_value(field, most), field.name) == []
    assert len(violations(with_value(field, least - 1), field.name)) == 1
    if rule.HasField("lte"):
        assert len(violations(with_value(field, most + 1), field.name)) == 1


LISTS = [f for f in fields() if f.is_repeated and rules(f).repeated.HasField("max_items")]


@each(LISTS)
def test_lists_have_an_end(field):
    limit = rules(field).repeated.max_items
    assert "repeated.max_items" not in violations(_list_of(field, limit), field.name)
    assert "repeated.max_items" in violations(_list_of(field, limit + 1), field.name)


def _list_of(field: FieldDescriptor, size: int) -> Message:
    message = empty(field)
    for i in range(size):
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            getattr(message, field.name).add()
        else:
            getattr(message, field.name).append(f"v{i}" if field.type == FieldDescriptor.TYPE_STRING else 1)
    return message


def test_the_sweep_finds_the_limits():
    """Guards the tests above: an annotation that is no longer found would leave them without cases."""
    assert len(strings("pattern")) > 40
    assert len(strings("max_len")) > 15
    assert len(strings("max_bytes")) > 30
    assert len(INT32S) > 20
    assert len(LISTS) > 15


def test_the_limits_are_those_of_the_documentation():
    content, fact = types_pb2.Content.DESCRIPTOR, fact_pb2.Fact.DESCRIPTOR
    assert rules(content.fields_by_name["text"]).string.max_bytes == 64 * 1024
    assert rules(fact.fields_by_name["text"]).string.max_len == 200
    assert rules(fact.fields_by_name["statement"]).string.max_bytes == 1024
    assert rules(types_pb2.UserRef.DESCRIPTOR.fields_by_name["user_id"]).string.pattern == ID


def turn() -> types_pb2.Turn:
    return types_pb2.Turn(turn_id="t-1", role=types_pb2.ROLE_USER, contents=[types_pb2.Content(text="Hello")])


def session(session_id: str = "s-1") -> types_pb2.SessionRef:
    return types_pb2.SessionRef(tenant_id="acme", user_id="u-1", session_id=session_id)


def test_tenant_user_and_turn_suffice_for_a_prompt():
    request = context_pb2.AssembleContextRequest(session=session(""), turn=turn())
    assert protovalidate.collect_violations(request) == []


def test_zero_tokens_is_a_limit_and_unset_is_none():
    unset, zero = types_pb2.Budget(), types_pb2.Budget(max_input_tokens=0)
    assert not unset.HasField("max_input_tokens")
    assert zero.HasField("max_input_tokens")
    assert protovalidate.collect_violations(zero) == []


@pytest.mark.parametrize(
    "request_type",
    [session_pb2.RecordTurnsRequest, session_pb2.UpdateSlotsRequest, session_pb2.EndSessionRequest],
)
def test_the_session_service_needs_a_session_id(request_type):
    assert violations(request_type(session=session("")), "session") == ["session.session_id.required"]
    assert violations(request_type(session=session()), "session") == []


@pytest.mark.parametrize("bad", ["x", "9f0c6f3e8f3f4b5a9d0e0a9a4c1b2d3e", "9F0C6F3E-8F3F-4B5A-9D0E", " "])
def test_a_request_id_is_a_uuid_or_absent(bad):
    request = context_pb2.AssembleContextRequest(session=session(), turn=turn())
    assert violations(request, "request_id") == []
    request.request_id = "9f0c6f3e-8f3f-4b5a-9d0e-0a9a4c1b2d3e"
    assert violations(request, "request_id") == []
    request.request_id = bad
    assert violations(request, "request_id") == ["string.uuid"]


def test_formats_are_known_and_each_once():
    def broken(*formats: types_pb2.PromptFormat.ValueType) -> list[str]:
        request = context_pb2.AssembleContextRequest(session=session(), turn=turn(), formats=formats)
        return [v.proto.rule_id for v in protovalidate.collect_violations(request)]

    text, chat = types_pb2.PROMPT_FORMAT_TEXT, types_pb2.PROMPT_FORMAT_OPENAI_CHAT
    assert broken(text, chat, types_pb2.PROMPT_FORMAT_ANTHROPIC_MESSAGES) == []
    assert broken(text, text) == ["repeated.unique"]
    assert broken(types_pb2.PROMPT_FORMAT_UNSPECIFIED) == ["enum.in"]
    assert broken(types_pb2.PromptFormat.ValueType(99)) == ["enum.in"]


def test_labels_are_few_and_short():
    def broken(labels: dict[str, str]) -> list[str]:
        request = context_pb2.AssembleContextRequest(session=session(), turn=turn(), labels=labels)
        return [v.proto.rule_id for v in protovalidate.collect_violations(request)]

    assert broken({f"k{i}": "v" * 128 for i in range(16)}) == []
    assert broken({f"k{i}": "v" for i in range(17)}) == ["map.max_pairs"]
    assert broken({"Key": "v"}) == ["string.pattern"]
    assert broken({"k" * 64: "v"}) == ["string.pattern"]
    assert broken({"k": "v" * 129}) == ["string.max_len"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_number_is_finite(bad):
    assert violations(fact_pb2.Fact(number=bad), "number") == ["double.finite"]


@pytest.mark.parametrize(
    ("confidence", "ok"), [(0.0, True), (1.0, True), (-0.001, False), (1.001, False), (float("nan"), False)]
)
def test_confidence_is_a_share(confidence, ok):
    assert (violations(fact_pb2.Fact(confidence=confidence), "confidence") == []) is ok


def test_an_entity_does_not_pose_as_the_user():
    for kind in ("user", "account"):
        entity = types_pb2.Subject.Entity(type=kind, id="1")
        assert violations(entity, "type") == ["string.not_in"]


def test_a_policy_sent_as_a_message_is_left_to_the_diagnostics():
    request = policy_service_pb2.ValidatePolicyRequest(tenant_id="acme", policy=policy_pb2.Policy())
    assert protovalidate.collect_violations(request) == []
    assert protovalidate.collect_violations(request.policy) != []


def test_a_time_to_live_is_above_zero():
    rule = policy_pb2.KindTtl()
    rule.context.seconds = 1
    assert violations(rule, "context") == []
    rule.context.seconds = 0
    assert violations(rule, "context") == ["duration.gt"]
