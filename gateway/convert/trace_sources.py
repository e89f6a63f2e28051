"""Where the candidates of a trace come from: the references that the spans of its prompt have."""

from collections.abc import Mapping
from datetime import datetime

from assemblers.assembly import SourceKind, TurnInput
from assemblers.records import Content, Text, ToolCall, Turn
from assemblers.trace.candidates import Candidate
from gateway.convert.origins import source_ref
from gateway.usecases.opened_trace import OpenedTrace
from muniment.v1 import types_pb2


class Sources:
    """The sources of one trace's items. What only the erased content could tell stays unset, and so does a time that
    is neither in the trace nor in `observed`, by item id."""

    def __init__(self, trace: OpenedTrace, observed: Mapping[str, datetime]) -> None:
        self._observed = observed
        self._user = trace.user
        self._prefix = trace.record.prefix
        content = trace.readable()
        self._material = {str(document.index): document for document in content.material}
        self._turns = dict(_turn_items(content.turn))

    def of(self, item: Candidate) -> types_pb2.SourceRef | None:
        """The source of an item; None where it is not known any more."""
        _, _, ref = item.item_id.partition("/")
        match item.source_kind:
            case SourceKind.TURN:
                return self._turn(item.item_id)
            case SourceKind.MATERIAL:
                return self._document(ref)
            case SourceKind.PREFIX_REVISION:
                return source_ref(item.source_kind, self._prefix, self._user)
            case SourceKind.POLICY_TEXT:
                return source_ref(item.source_kind, ref or item.policy_field, self._user)
            case _:
                observed = self._observed.get(item.item_id)
                return source_ref(item.source_kind, ref, self._user, observed) if ref else None

    def _turn(self, item_id: str) -> types_pb2.SourceRef | None:
        found = self._turns.get(item_id)
        return None if found is None else source_ref(SourceKind.TURN, found[0], self._user, found[1])

    def _document(self, ref: str) -> types_pb2.SourceRef | None:
        document = self._material.get(ref)
        if document is None:
            return None
        return source_ref(SourceKind.MATERIAL, document.source, self._user, document.read_time)


def _turn_items(turn: TurnInput) -> list[tuple[str, tuple[str, datetime]]]:
    """The items of the question and the open turns, each with its turn's id and time."""
    items = [("question", (turn.question_turn_id, turn.question_time))]
    for each in turn.open_turns:
        items += [(item_id, (each.turn_id, each.occur_time)) for item_id in _item_ids(each)]
    return items


def _item_ids(turn: Turn) -> list[str]:
    return [_item_id(turn, content) for content in turn.contents]


def _item_id(turn: Turn, content: Content) -> str:
    if isinstance(content, Text):
        return f"turn/{turn.turn_id}"
    return f"{'call' if isinstance(content, ToolCall) else 'result'}/{content.call_id}"
