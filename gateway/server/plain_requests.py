"""A quick yes for plain requests, so that the whole of validation runs only where it may have something to say.

protovalidate takes ten times longer to find nothing. The rules are those of the annotations, read from the descriptors
once; a field that is set and whose rules are not among the few known here leaves the answer to the whole validation.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import protovalidate
from buf.validate import validate_pb2
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from gateway.server.content_rules import Check, check_for

# Field values are of the type that their descriptor says; a test is only ever planned for fields that fit it.
# What it answers counts by its truth.
Test = Callable[[Any], object]

_KNOWN_OF_STRINGS = frozenset(("pattern", "min_len", "max_len", "max_bytes"))
_KNOWN_OF_ENUMS = frozenset(("defined_only", "not_in"))
_KNOWN_OF_LISTS = frozenset(("min_items", "max_items"))
# Of all patterns only those that mean the same to RE2 and to Python.
_SIMPLE_PATTERN = re.compile(r"\^\[[A-Za-z0-9_.:@|+=/-]+\]\{\d+,\d+\}\$")
_BYTES_PER_CHARACTER = 4


@dataclass(slots=True)
class _Plan:
    """The tests of one message type, each with its bit in `needed`, which has one for each field or oneof that must be
    set. To hold on to the descriptors saves making them anew for each message."""

    needed: int = 0
    tests: dict[FieldDescriptor, tuple[int, Test]] = field(default_factory=dict)

    def holds(self, message: Message) -> bool:
        """Whether the message keeps all rules for sure."""
        seen, tests = 0, self.tests
        for member, value in message.ListFields():
            bit, test = tests[member]
            if not test(value):
                return False
            seen |= bit
        return seen == self.needed


def plain(descriptor: Descriptor, validator: protovalidate.Validator) -> Callable[[Message], bool]:
    """A test for messages of a type: True says that validation would find nothing, False says nothing."""
    return _compile(descriptor, validator, {}).holds


def _compile(descriptor: Descriptor, validator: protovalidate.Validator, known: dict[str, _Plan]) -> _Plan:
    """The plan of a type. `known` holds the plans being made, for types that contain themselves."""
    plan = known[descriptor.full_name] = _Plan()
    # What an empty message is refused for is what has to be set; of all else the default is fine.
    refused = _refused_when_empty(descriptor, validator)
    bits = {name: 1 << place for place, name in enumerate(sorted(refused))}
    plan.needed = sum(bits.values())
    whole = descriptor.GetOptions().Extensions[validate_pb2.message].ListFields()
    for member in descriptor.fields:
        below = _below(member, validator, known)
        test = _never if whole else _test(member, below)
        oneof = member.containing_oneof
        bit = bits.get(member.name, 0) | (bits.get(oneof.name, 0) if oneof is not None else 0)
        plan.tests[member] = bit, test
    return plan


def _refused_when_empty(descriptor: Descriptor, validator: protovalidate.Validator) -> set[str]:
    """The fields and oneofs; "" for the message as a whole, which no field can then put right."""
    paths = [v.proto.field for v in validator.collect_violations(GetMessageClass(descriptor)())]
    return {path.elements[0].field_name if path is not None and path.elements else "" for path in paths}


def _below(
    member: FieldDescriptor, validator: protovalidate.Validator, known: dict[str, _Plan]
) -> _Plan | None:
    """The plan of a field's messages; None for scalars and maps."""
    if member.message_type is None or member.message_type.GetOptions().map_entry:
        return None
    return known.get(member.message_type.full_name) or _compile(member.message_type, validator, known)


def _never(_: object) -> bool:
    return False


def _always(_: object) -> bool:
    return True


def _test(member: FieldDescriptor, below: _Plan | None) -> Test:
    """The test of a field that is set: its annotations, and what its name or type asks for beyond them."""
    rules = {
        rule.name: value for rule, value in member.GetOptions().Extensions[validate_pb2.field].ListFields()
    }
    rules.pop("required", None)
    test = _of_list(rules, below) if member.is_repeated else _of_value(member, rules, below)
    content = check_for(member)
    return test if content is None or test is _never else _both(test, content)


def _both(test: Test, content: Check) -> Test:
    return lambda value: test(value) and content(value) is None


def _of_list(rules: dict[str, Any], below: _Plan | None) -> Test:
    """Of lists only those of messages."""
    limits = _limits(rules, "repeated", _KNOWN_OF_LISTS)
    if limits is None or below is None:
        return _never
    least, most, holds = limits.get("min_items", 0), limits.get("max_items", float("inf")), below.holds
    return lambda items: least <= len(items) <= most and all(map(holds, items))


def _of_value(member: FieldDescriptor, rules: dict[str, Any], below: _Plan | None) -> Test:
    if not rules:
        return _always if below is None else below.holds
    if member.enum_type is not None:
        return _of_enum(member.enum_type, _limits(rules, "enum", _KNOWN_OF_ENUMS))
    return _of_string(_limits(rules, "string", _KNOWN_OF_STRINGS))


def _limits(rules: dict[str, Any], kind: str, known: frozenset[str]) -> dict[str, Any] | None:
    """The rules of that kind by name; None where there are others than the known ones."""
    limits = {rule.name: value for rule, value in rules[kind].ListFields()} if kind in rules else {}
    return limits if rules.keys() <= {kind} and limits.keys() <= known else None


def _of_enum(enum: EnumDescriptor, limits: dict[str, Any] | None) -> Test:
    if limits is None:
        return _never
    allowed = frozenset(enum.values_by_number) - frozenset(limits.get("not_in", ()))
    return allowed.__contains__


def _of_string(limits: dict[str, Any] | None) -> Test:
    if limits is None or not _SIMPLE_PATTERN.fullmatch(limits.get("pattern", "^[a]{0,0}$")):
        return _never
    least, most = limits.get("min_len", 0), limits.get("max_len", float("inf"))
    most = min(most, limits.get("max_bytes", float("inf")) / _BYTES_PER_CHARACTER)
    if "pattern" not in limits:
        return lambda text: least <= len(text) <= most
    matches = re.compile(limits["pattern"]).fullmatch
    if len(limits) == 1:
        return matches
    return lambda text: matches(text) and least <= len(text) <= most
