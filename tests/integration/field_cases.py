"""Wrong values for every field of a request, read out of its descriptor: what the annotations rule out, and what the
server rules out beyond them. A field that allows no wrong value has to be named among the free ones."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from buf.validate import validate_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

TIMESTAMP = Timestamp.DESCRIPTOR.full_name
DURATION = Duration.DESCRIPTOR.full_name
SCALARS = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_ENUM: "enum",
}
# Rules hold for what is inside these: policies are told by diagnostics, masks by their paths.
OPAQUE = {"muniment.v1.Policy", "google.protobuf.FieldMask"}


@dataclass(frozen=True)
class Case:
    """A request made wrong at one place, and the path that the answer has to name."""

    spoil: Callable[[Message], None]
    field: str
    what: str


@dataclass(frozen=True)
class Place:
    """A field of a request, reached through the fields above it; of repeated ones through the first item."""

    above: tuple[FieldDescriptor, ...]
    field: FieldDescriptor

    @property
    def path(self) -> str:
        return self.head + self.field.name

    @property
    def head(self) -> str:
        return "".join(f"{f.name}{'[0]' if f.is_repeated else ''}." for f in self.above)

    def holder(self, request: Message) -> Any:
        """The message that has the field, made where it was not there."""
        message: Any = request
        for step in self.above:
            below = getattr(message, step.name)
            if step.is_repeated:
                message = below[0] if len(below) else below.add()
            else:
                below.SetInParent()
                message = below
        return message

    def put(self, value: object) -> Callable[[Message], None]:
        """Sets the field; None clears it."""

        def spoil(request: Message) -> None:
            message = self.holder(request)
            message.ClearField(self.field.name)
            if value is None:
                return
            if is_map(self.field):
                getattr(message, self.field.name).update(value)
            elif self.field.is_repeated:
                getattr(message, self.field.name).extend(value)
            elif self.field.message_type is not None:
                getattr(message, self.field.name).CopyFrom(value)
            else:
                setattr(message, self.field.name, value)

        return spoil

    def clear(self, name: str) -> Callable[[Message], None]:
        """Clears a field or oneof beside it."""
        return lambda request: self.holder(request).ClearField(name)

    def copies(self, count: int) -> Callable[[Message], None]:
        """Repeats the first item once at least, and until there are so many."""

        def spoil(request: Message) -> None:
            items = getattr(self.holder(request), self.field.name)
            if not items and self.field.message_type is not None:
                items.add()
            elif not items:
                items.append("x")
            items.extend([items[0]] * max(1, count - len(items)))

        return spoil


def is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def places(request: Message) -> Iterator[Place]:
    """Every field of a request and of the messages in it."""
    return _places(cast("Descriptor", request.DESCRIPTOR))


def choices(request: Message) -> Iterator[Case]:
    """Nothing chosen, for every oneof that has to be chosen from."""
    return _choices(cast("Descriptor", request.DESCRIPTOR))


def cases(place: Place) -> Iterator[Case]:
    """What is wrong for the field by its annotations, its type or its name."""
    field, rules = place.field, _rules(place.field)
    if rules.required:
        yield Case(place.put(None), place.path, "missing")
    if is_map(field):
        yield from _map_cases(place, rules.map)
    elif field.is_repeated:
        yield from _list_cases(place, rules.repeated)
    elif field.message_type is not None:
        if field.message_type.full_name == TIMESTAMP:
            yield Case(place.put(Timestamp(nanos=-1)), place.path, "nanos below zero")
            yield Case(place.put(Timestamp(seconds=1_795_953_600_000)), place.path, "milliseconds")
        if field.message_type.full_name == DURATION:
            yield Case(place.put(Duration()), place.path, "no time at all")
            yield Case(place.put(Duration(seconds=-1)), place.path, "a time below zero")
            if rules.duration.HasField("lte"):
                longest = rules.duration.lte.seconds
                yield Case(place.put(Duration(seconds=longest + 1)), place.path, "too long a time")
    else:
        yield from (Case(place.put(v), place.path, what) for v, what in _wrong_values(field, rules))


def _wrong_values(field: FieldDescriptor, rules: Any) -> Iterator[tuple[object, str]]:
    kind = SCALARS.get(field.type, "")
    scalar: Any = getattr(rules, kind, None)
    if kind == "string":
        yield from _wrong_texts(scalar)
        yield from _WRONG_BY_NAME.get(field.name, ())
    elif kind == "bytes":
        yield from ((b"x" * (scalar.max_len + 1), "too many bytes"),) if scalar.HasField("max_len") else ()
        yield from ((b"", "no bytes"),) if scalar.HasField("min_len") else ()
        yield from _WRONG_BY_NAME.get(field.name, ())
    elif kind == "enum":
        yield from ((99, "unknown value"),) if scalar.defined_only or getattr(scalar, "in") else ()
        yield from ((value, "refused value") for value in scalar.not_in)
    elif scalar is not None:
        yield from _wrong_numbers(kind, scalar)


def _wrong_texts(rule: Any) -> Iterator[tuple[object, str]]:
    if rule.HasField("pattern"):
        yield "no id!", "outside the pattern"
        yield "i" * 129, "an id too long"
    if rule.HasField("max_len"):
        yield "é" * (rule.max_len + 1), "too many characters"
    if rule.HasField("max_bytes"):
        yield "é" * (rule.max_bytes // 2 + 1), "too many bytes"
    if rule.HasField("min_len"):
        yield "", "empty"
    if rule.uuid:
        yield "42", "no UUID"
    for value in rule.not_in:
        yield value, "a refused word"


def _wrong_numbers(kind: str, rule: Any) -> Iterator[tuple[object, str]]:
    if rule.HasField("gte"):
        yield rule.gte - 1, "too small"
    if rule.HasField("gt"):
        yield rule.gt, "not above"
    if rule.HasField("lte"):
        yield rule.lte + 1, "too large"
    if kind == "double":
        yield float("nan"), "not a number"


def _list_cases(place: Place, rule: Any) -> Iterator[Case]:
    if rule.min_items:
        yield Case(place.put(None), place.path, "no items")
    if rule.HasField("max_items") and not _items_differ(rule):
        yield Case(place.copies(rule.max_items + 1), place.path, "too many items")
    if rule.unique:
        yield Case(place.copies(2), place.path, "an item twice")
    if getattr(rule.items.enum, "in"):
        yield Case(place.put([99]), f"{place.path}[0]", "unknown value")
    if rule.items.string.HasField("max_len"):
        yield Case(place.put(["é" * (rule.items.string.max_len + 1)]), f"{place.path}[0]", "item too long")
    if rule.items.string.HasField("pattern"):
        yield Case(place.put(["no id!"]), f"{place.path}[0]", "item outside the pattern")


def _items_differ(rule: Any) -> bool:
    """Lists of distinct enum values cannot be longer than the enum."""
    return bool(rule.unique and getattr(rule.items.enum, "in"))


def _map_cases(place: Place, rule: Any) -> Iterator[Case]:
    yield Case(place.put({f"k{i}": "v" for i in range(rule.max_pairs + 1)}), place.path, "too many entries")
    yield Case(place.put({"No Key": "v"}), f"{place.path}[*]", "a wrong key")
    longest = rule.values.string.max_len
    yield Case(place.put({"k": "é" * (longest + 1)}), f"{place.path}[*]", "a value too long")


def _places(descriptor: Descriptor, above: tuple[FieldDescriptor, ...] = ()) -> Iterator[Place]:
    for field in descriptor.fields:
        yield Place(above, field)
        below = field.message_type
        if below is not None and not is_map(field) and below.full_name not in OPAQUE | {TIMESTAMP, DURATION}:
            yield from _places(below, (*above, field))


def _choices(descriptor: Descriptor, above: tuple[FieldDescriptor, ...] = ()) -> Iterator[Case]:
    for oneof in descriptor.oneofs:
        if _oneof_rules(oneof).required:
            place = Place(above, oneof.fields[0])
            yield Case(place.clear(oneof.name), place.head + oneof.name, "nothing chosen")
    for field in descriptor.fields:
        below = field.message_type
        if below is not None and not is_map(field) and below.full_name not in OPAQUE | {TIMESTAMP, DURATION}:
            yield from _choices(below, (*above, field))


def _rules(field: FieldDescriptor) -> Any:
    return field.GetOptions().Extensions[validate_pb2.field]


def _oneof_rules(oneof: OneofDescriptor) -> Any:
    return oneof.GetOptions().Extensions[validate_pb2.oneof]


_BROKEN_JSON = ("{", '{"a":1,"a":2}', '{"a":NaN}', "[" * 33 + "]" * 33, '"\\u0000"', '"\\ud800"')
_WRONG_BY_NAME: dict[str, tuple[tuple[object, str], ...]] = {
    "time_zone": (("Mars/Olympus", "no zone"), ("../../etc/passwd", "a path")),
    "arguments_json": tuple((text, "wrong JSON") for text in (*_BROKEN_JSON, "[1]")),
    "result_json": tuple((text, "wrong JSON") for text in _BROKEN_JSON),
    "definition_json": tuple((text.encode(), "wrong JSON") for text in (*_BROKEN_JSON, "[1]")),
    "page_token": (("!", "no token"), ("AAAA", "another's token")),
}
