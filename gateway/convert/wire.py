"""Protobuf's wire encoding, for answers that are written as bytes: integers, and fields by their descriptors.

Repeated fields concatenate and messages are fields with a length, so what stays the same of an answer can be kept
encoded and put between what is new. See https://protobuf.dev/programming-guides/encoding/.
"""

from datetime import UTC, datetime

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

_VARINT, _DELIMITED = 0, 2
_WIRE_TYPES = {
    FieldDescriptor.TYPE_INT32: _VARINT,
    FieldDescriptor.TYPE_INT64: _VARINT,
    FieldDescriptor.TYPE_ENUM: _VARINT,
    FieldDescriptor.TYPE_BOOL: _VARINT,
    FieldDescriptor.TYPE_STRING: _DELIMITED,
    FieldDescriptor.TYPE_BYTES: _DELIMITED,
    FieldDescriptor.TYPE_MESSAGE: _DELIMITED,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400


def _encode(number: int) -> bytes:
    """Seven bits a byte, the lowest first; negative numbers as those of 64 bits."""
    rest, written = number & (1 << 64) - 1, bytearray()
    while rest > 0x7F:
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    written.append(rest)
    return bytes(written)


_SMALL = tuple(_encode(number) for number in range(1 << 14))
_MOST_SMALL = len(_SMALL) - 1


def varint(number: int) -> bytes:
    """The integer (int32, int64, enum, length) as a varint."""
    return _SMALL[number] if 0 <= number <= _MOST_SMALL else _encode(number)


def key(message: type[Message], field: str) -> bytes:
    """What stands before the field's value. Raises KeyError for a field that is missing or of another wire type."""
    descriptor = message.DESCRIPTOR.fields_by_name[field]
    return varint(descriptor.number << 3 | _WIRE_TYPES[descriptor.type])


def integer(field: bytes, number: int) -> bytes:
    """A field of an integer without presence, whose 0 is not written. `field` is its key, as everywhere below."""
    return field + varint(number) if number else b""


def text(field: bytes, value: str) -> bytes:
    """A field of a string without presence, whose "" is not written."""
    return delimited(field, value.encode()) if value else b""


def delimited(field: bytes, value: bytes) -> bytes:
    """A field of a message, or of a string that is written even where it is empty."""
    return field + varint(len(value)) + value


_SECONDS, _NANOS = key(Timestamp, "seconds"), key(Timestamp, "nanos")


def instant(moment: datetime) -> bytes:
    """The encoded `google.protobuf.Timestamp`, exact to the microsecond."""
    since = moment - _EPOCH
    seconds, nanos = since.days * _DAY + since.seconds, since.microseconds * 1000
    return integer(_SECONDS, seconds) + integer(_NANOS, nanos)
