"""Instants of the wire: `google.protobuf.Timestamp` and aware datetimes in UTC, exact to the microsecond."""

from datetime import UTC, datetime

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp


def instant_of(message: Timestamp) -> datetime:
    """The instant. What is finer than a microsecond is cut off."""
    return message.ToDatetime(UTC)


def instant_to(instant: datetime) -> Timestamp:
    """The message."""
    message = Timestamp()
    message.FromDatetime(instant)
    return message


def optional_of(message: Message, field: str) -> datetime | None:
    """The instant in a field of the message, None where it is not set."""
    return instant_of(getattr(message, field)) if message.HasField(field) else None


def optional_to(instant: datetime | None) -> Timestamp | None:
    """The message, None for None: protobuf takes it as unset."""
    return None if instant is None else instant_to(instant)
