"""Origins of items on the wire."""

from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp

from assemblers.assembly import Source, SourceKind
from assemblers.records import UserRef
from gateway.names import user_name
from muniment.v1 import types_pb2

_FIELDS = {kind: kind.value.lower() for kind in SourceKind}
_NUMBERED = {SourceKind.FACT: "/facts/", SourceKind.EXCERPT: "/excerpts/"}


def source_to(source: Source, user: UserRef) -> types_pb2.SourceRef:
    """The message of a source; facts and excerpts are named within `user`."""
    return source_ref(source.kind, source.ref, user, source.observe_time)


def source_ref(
    kind: SourceKind, ref: str, user: UserRef, observe_time: datetime | None = None
) -> types_pb2.SourceRef:
    """The message of an origin by its kind and its reference there."""
    collection = _NUMBERED.get(kind)
    named = f"{user_name(user)}{collection}{ref}" if collection else ref
    message = types_pb2.SourceRef()
    setattr(message, _FIELDS[kind], named)
    if observe_time is not None:
        message.observe_time.CopyFrom(_instant(observe_time))
    return message


def _instant(moment: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(moment)
    return message
