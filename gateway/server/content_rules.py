"""What annotations cannot say: JSON texts, time zones and instants inside a message, by plans made once per type."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from gateway.errors import FieldViolation
from gateway.server.json_rules import JsonFault, parse_json

# One day inside datetime's range, so that no time zone can push an instant out of it.
_FIRST_SECOND = -62_135_596_800 + 86_400
_LAST_SECOND = 253_402_300_799 - 86_400
_LOCAL_ZONES = frozenset({"localtime", "posixrules", "Factory"})
_OBJECT_FIELDS = frozenset({"arguments_json", "definition_json"})

# Field values are of the type that their descriptor says; a check is only ever planned for fields that fit it.
Check = Callable[[Any], str | None]


@dataclass(slots=True)
class _Plan:
    """What to look at in messages of one type. `messages` are sub-messages with something to look at."""

    checks: list[tuple[str, Check]] = field(default_factory=list)
    present: list[tuple[str, Check]] = field(default_factory=list)
    messages: list[tuple[str, bool, "_Plan"]] = field(default_factory=list)


def content_violations(message: Message) -> list[FieldViolation]:
    """All violations in the message and below it."""
    found: list[FieldViolation] = []
    _run(_plan(message.DESCRIPTOR), message, "", found)
    return found


def holds_nul(message: Message) -> bool:
    """Whether a string anywhere in the message has NUL in it. Bytes may."""
    return any(_has_nul(descriptor, value) for descriptor, value in message.ListFields())


def _has_nul(descriptor: FieldDescriptor, value: Any) -> bool:
    if descriptor.message_type is not None and descriptor.message_type.GetOptions().map_entry:
        return any("\x00" in part for pair in value.items() for part in pair if isinstance(part, str))
    values = value if descriptor.is_repeated else (value,)
    if descriptor.message_type is not None:
        return any(holds_nul(item) for item in values)
    return descriptor.type == FieldDescriptor.TYPE_STRING and any("\x00" in item for item in values)


def _run(plan: _Plan, message: Message, prefix: str, found: list[FieldViolation]) -> None:
    """Add the violations of the message and below it to `found`."""
    for name, check in plan.checks:
        text = check(getattr(message, name))
        if text:
            found.append(FieldViolation(prefix + name, text))
    for name, check in plan.present:
        if message.HasField(name) and (text := check(getattr(message, name))):
            found.append(FieldViolation(prefix + name, text))
    for name, repeated, below in plan.messages:
        if repeated:
            for index, item in enumerate(getattr(message, name)):
                _run(below, item, f"{prefix}{name}[{index}].", found)
        elif message.HasField(name):
            _run(below, getattr(message, name), f"{prefix}{name}.", found)


@cache
def _plan(descriptor: Descriptor) -> _Plan:
    return _compile(descriptor, {})


def _compile(descriptor: Descriptor, known: dict[str, _Plan]) -> _Plan:
    """The plan of a type. `known` holds the plans being made, for types that contain themselves."""
    plan = known[descriptor.full_name] = _Plan()
    for member in descriptor.fields:
        check = check_for(member)
        if check is not None:
            (plan.present if member.message_type is not None else plan.checks).append((member.name, check))
        elif member.message_type is not None and not member.message_type.GetOptions().map_entry:
            below = known.get(member.message_type.full_name) or _compile(member.message_type, known)
            if below.checks or below.present or below.messages:
                plan.messages.append((member.name, member.is_repeated, below))
    return plan


def check_for(member: FieldDescriptor) -> Check | None:
    """What a field's name or type asks for beyond its annotations: says what is wrong, None where nothing is."""
    if member.is_repeated:
        return None
    if member.message_type is not None:
        return _check_instant if member.message_type.full_name == Timestamp.DESCRIPTOR.full_name else None
    if member.name.endswith("_json"):
        return _check_object if member.name in _OBJECT_FIELDS else _check_json
    return _check_zone if member.name == "time_zone" else None


def _check_json(text: str | bytes) -> str | None:
    """Empty is left to the annotations."""
    try:
        if text:
            parse_json(text)
    except JsonFault as fault:
        return str(fault)
    return None


def _check_object(text: str | bytes) -> str | None:
    try:
        if text and not isinstance(parse_json(text), dict):
            return "is JSON, but not an object: wrap it in {}"
    except JsonFault as fault:
        return str(fault)
    return None


def _check_instant(instant: Timestamp) -> str | None:
    if not 0 <= instant.nanos < 1_000_000_000:
        return "has nanos outside 0 to 999999999: put whole seconds into seconds"
    if not _FIRST_SECOND <= instant.seconds <= _LAST_SECOND:
        return "lies outside 0001-01-02 to 9999-12-30: send seconds since 1970, not milliseconds"
    return None


def _check_zone(name: str) -> str | None:
    """Empty means UTC."""
    return None if not name or _is_zone(name) else "is not an IANA time zone: write one such as Europe/Berlin"


def _is_zone(name: str) -> bool:
    # What these stand for differs from machine to machine, so that a replay elsewhere would show other dates.
    if name in _LOCAL_ZONES or name.startswith(("posix/", "right/")):
        return False
    try:
        # Not cached here: zoneinfo keeps the zones it found, and unknown names must not fill a cache of ours.
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
