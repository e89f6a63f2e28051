"""Origins of items on the wire."""

from datetime import datetime

from assemblers.assembly import Source, SourceKind
from assemblers.records import UserRef
from gateway.convert.instants import instant_to
from gateway.names import user_name
from muniment.v1 import types_pb2

SOURCE_FIELDS = {kind: kind.value.lower() for kind in SourceKind}
"""The field of `SourceRef` for each kind."""

_NUMBERED = {SourceKind.FACT: "/facts/", SourceKind.EXCERPT: "/excerpts/"}


def source_to(source: Source, user: UserRef) -> types_pb2.SourceRef:
    """The message of a source; facts and excerpts are named within `user`."""
    return source_ref(source.kind, source.ref, user, source.observe_time)


def source_ref(
    kind: SourceKind, ref: str, user: UserRef, observe_time: datetime | None = None
) -> types_pb2.SourceRef:
    """The message of an origin by its kind and its reference there."""
    message = types_pb2.SourceRef()
    setattr(message, SOURCE_FIELDS[kind], reference(kind, ref, user))
    if observe_time is not None:
        message.observe_time.CopyFrom(instant_to(observe_time))
    return message


def reference(kind: SourceKind, ref: str, user: UserRef) -> str:
    """What the field of the kind holds: a resource name for what is numbered within the user, else the reference."""
    collection = _NUMBERED.get(kind)
    return f"{user_name(user)}{collection}{ref}" if collection else ref
