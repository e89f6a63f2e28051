"""What a broken field rule is called for the client: the rule in words, and what to send instead."""

from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, OneofDescriptor
from protovalidate import Violation

from gateway.errors import FieldViolation

_ID_CHARACTERS = "[A-Za-z0-9._:@|+=/-]"
_MOST_VALUES = 20

Place = FieldDescriptor | OneofDescriptor | None

# Rule values are the figures of the annotations, of the type of their field.
_TEXTS: dict[str, Callable[[Any], str]] = {
    "required": lambda _: "is required: set it",
    "string.min_len": lambda v: (
        f"is too short: give at least {v} characters" if v > 1 else "is empty: set it"
    ),
    "string.max_len": lambda v: f"is too long: give at most {v} characters",
    "string.not_in": lambda v: f"is a reserved word: write another than {', '.join(v)}",
    "string.min_bytes": lambda v: f"is too short: give at least {v} bytes of UTF-8",
    "string.max_bytes": lambda v: f"is too long: give at most {v} bytes of UTF-8",
    "string.uuid": lambda _: "is not a UUID: send a fresh one, such as 3f2b8c1e-9d47-4a60-8e15-7c0d6b9a2f41",
    "string.uuid_empty": lambda _: (
        "is empty: send a fresh UUID, and the same one when you repeat the request"
    ),
    "bytes.min_len": lambda v: f"is too short: give at least {v} bytes",
    "bytes.max_len": lambda v: f"is too long: give at most {v} bytes",
    "repeated.min_items": lambda v: (
        f"has too few items: give at least {v}" if v > 1 else "is empty: give at least one"
    ),
    "repeated.max_items": lambda v: f"has too many items: give at most {v}",
    "repeated.unique": lambda _: "holds an item twice: give each once",
    "map.max_pairs": lambda v: f"has too many entries: give at most {v}",
}


def field_violation(root: Descriptor, violation: Violation, short_names: bool = False) -> FieldViolation:
    """The violation with the field's path as in the .proto files (`turn.contents[0].text`) and a remedy.

    `short_names`: the values of an enum without its name before them, as YAML has them.
    """
    proto = violation.proto
    elements = list(proto.field.elements) if proto.field is not None else []
    path = ".".join(element.field_name + _subscript(element.subscript) for element in elements)
    place = _resolve(root, [element.field_name for element in elements])
    rule = proto.rule_id.removeprefix("repeated.items.").removeprefix("map.keys.").removeprefix("map.values.")
    of_enum = rule == "required" or rule.startswith("enum.")
    if of_enum and isinstance(place, FieldDescriptor) and place.enum_type is not None:
        names = _names(place.enum_type, rule, violation.rule_value, short_names)
        problem = "is required" if rule == "required" else "is not one of its values"
        return FieldViolation(path, f"{problem}: choose {names}")
    return FieldViolation(path, _describe(rule, violation.rule_value, place, proto.message))


def _describe(rule: str, value: Any, place: Place, message: str) -> str:
    if isinstance(place, OneofDescriptor):
        return f"is required: set one of {', '.join(field.name for field in place.fields)}"
    if rule == "string.pattern":
        return _pattern(str(value))
    text = _TEXTS.get(rule)
    return text(value) if text else message


def _pattern(pattern: str) -> str:
    if _ID_CHARACTERS in pattern:
        length = "1 to 128" if "{1,128}" in pattern else "0 to 128"
        if pattern in (f"^{_ID_CHARACTERS}{{1,128}}$", f"^{_ID_CHARACTERS}{{0,128}}$"):
            return f"is not an id: give {length} characters of A-Z a-z 0-9 . _ : @ | + = / -"
    return f"does not have its form: write it to match {pattern}"


def _names(enum: EnumDescriptor, rule: str, value: Any, short: bool) -> str:
    """The values that the rule leaves, without the unspecified one."""
    values = [known for known in enum.values if known.number != 0]
    if rule == "enum.in":
        values = [known for known in values if known.number in value]
    if rule == "enum.not_in":
        values = [known for known in values if known.number not in value]
    # Every enum's zero is its name and this word: buf's lint holds the contract to it.
    prefix = enum.values_by_number[0].name.removesuffix("UNSPECIFIED") if short else ""
    return ", ".join(known.name.removeprefix(prefix) for known in values[:_MOST_VALUES])


# The subscript is a oneof of index and map keys, in the types of protovalidate's own protobuf runtime.
def _subscript(subscript: Any) -> str:
    """An index is told; a map's key is the caller's text, which no error repeats."""
    if subscript is None:
        return ""
    return f"[{subscript.value}]" if subscript.field == "index" else "[*]"


def _resolve(root: Descriptor, names: list[str]) -> Place:
    """What the last name on the path stands for; None at the message itself."""
    message: Descriptor | None = root
    place: Place = None
    for name in names:
        if message is None:
            return None
        place = message.fields_by_name.get(name) or message.oneofs_by_name.get(name)
        message = place.message_type if isinstance(place, FieldDescriptor) else None
    return place
