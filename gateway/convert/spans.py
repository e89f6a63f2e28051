"""Encodes spans: a prompt has about a hundred, so what stays the same of each is encoded once and kept."""

from collections.abc import Iterable
from typing import TypeAlias

from assemblers.assembly import Source, SourceKind, Span
from assemblers.records import UserRef
from gateway.convert import wire
from gateway.convert.origins import SOURCE_FIELDS, reference
from muniment.v1 import prompt_pb2, types_pb2

KEPT_SPANS = 65_536
"""Encoded origins that are kept, about 300 bytes each."""

_SPAN = wire.key(prompt_pb2.Part, "spans")
_OFFSET, _LENGTH, _ITEM, _SOURCE = (
    wire.key(types_pb2.Span, field) for field in ("offset", "length", "item_id", "source")
)
# Made once, since a field is looked up in half the time that it takes to make.
_MANY = 4096
_OFFSETS = tuple(wire.integer(_OFFSET, offset) for offset in range(_MANY))
_HEADS = tuple(_SPAN + wire.varint(size) for size in range(_MANY))

_Kept: TypeAlias = tuple[Source, int, bytes]
"""The source, the span's length, and all of the span but its offset."""

_REFERENCES = {kind: wire.key(types_pb2.SourceRef, field) for kind, field in SOURCE_FIELDS.items()}
_OBSERVED = wire.key(types_pb2.SourceRef, "observe_time")

# Their source records live with an archive, a policy or a release; the others are made anew for each prompt.
_LONG_LIVED = frozenset((SourceKind.EXCERPT, SourceKind.ARCHIVED_SESSION, SourceKind.POLICY_TEXT))


class SpanEncoder:
    """Encodes spans. All but the offset is kept for long-lived sources, by the identity of the source and the item.

    What is kept holds on to its source, so that an identity is never taken over by another object. One instance serves
    all users: a source record belongs to one of them.
    """

    def __init__(self, capacity: int = KEPT_SPANS) -> None:
        self._capacity = capacity
        self._kept: dict[tuple[int, str], _Kept] = {}

    def encode(self, spans: Iterable[Span], user: UserRef) -> bytes:
        """The field `Part.spans`."""
        kept = self._kept
        written: list[bytes] = []
        for offset, length, item_id, source in spans:
            known = kept.get((id(source), item_id))
            if known is None or known[1] != length:
                known = self._encode(length, item_id, source, user)
            rest = known[2]
            start = _OFFSETS[offset] if offset < _MANY else wire.integer(_OFFSET, offset)
            size = len(start) + len(rest)
            written += (_HEADS[size] if size < _MANY else _SPAN + wire.varint(size), start, rest)
        return b"".join(written)

    def _encode(self, length: int, item_id: str, source: Source, user: UserRef) -> _Kept:
        item, origin = item_id.encode(), _source(source, user)
        size, varint = wire.integer(_LENGTH, length), wire.varint
        rest = b"".join((size, _ITEM, varint(len(item)), item, _SOURCE, varint(len(origin)), origin))
        made = source, length, rest
        if source.kind in _LONG_LIVED:
            if len(self._kept) >= self._capacity:
                self._kept.clear()
            self._kept[id(source), item_id] = made
        return made


def _source(source: Source, user: UserRef) -> bytes:
    """The encoded `SourceRef`."""
    kind, ref, observed = source
    named = reference(kind, ref, user).encode()
    origin = _REFERENCES[kind] + wire.varint(len(named)) + named
    return origin if observed is None else origin + wire.delimited(_OBSERVED, wire.instant(observed))
