"""Writes spans: a prompt has about a hundred, so what stays the same of each is made once and copied."""

from collections.abc import Iterable

from assemblers.assembly import Source, Span
from assemblers.records import UserRef
from gateway.convert.origins import source_to
from muniment.v1 import prompt_pb2, types_pb2

KEPT_SPANS = 65_536
"""Templates that are kept, about 300 bytes each."""


class SpanWriter:
    """Writes spans from templates, kept by the identity of the source record and the item.

    The template holds on to its source, so that an identity is never taken over by another object. One instance serves
    all users: a source record belongs to one of them.
    """

    def __init__(self, capacity: int = KEPT_SPANS) -> None:
        self._capacity = capacity
        self._templates: dict[tuple[int, str], tuple[Source, types_pb2.Span]] = {}

    def write(self, part: prompt_pb2.Part, spans: Iterable[Span], user: UserRef) -> None:
        """Append the spans to the part."""
        add, templates = part.spans.add, self._templates
        for span in spans:
            kept = templates.get((id(span.source), span.item_id)) or self._keep(span, user)
            written = add()
            written.MergeFrom(kept[1])
            written.offset = span.offset
            written.length = span.length

    def _keep(self, span: Span, user: UserRef) -> tuple[Source, types_pb2.Span]:
        if len(self._templates) >= self._capacity:
            self._templates.clear()
        template = types_pb2.Span(item_id=span.item_id, source=source_to(span.source, user))
        kept = self._templates[id(span.source), span.item_id] = span.source, template
        return kept
