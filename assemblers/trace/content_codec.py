"""The bytes of a trace's content, beside the chain: `MTC`, the format as one byte, and JSON in UTF-8."""

from __future__ import annotations

from typing import Final

from assemblers.assembly import TurnInput
from assemblers.records import (
    Certainty,
    Content,
    Degradation,
    Filter,
    Focus,
    Material,
    Reason,
    RecentQuestion,
    Role,
    SectionKind,
    SectionStatus,
    Slots,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)
from assemblers.trace.errors import MalformedTrace
from assemblers.trace.record import SALT_BYTES, Asked, TraceContent
from assemblers.trace.wire import Node, micros, read_json, write_json

CONTENT_FORMAT: Final = 1
"""Version of the content's bytes; former ones stay readable as long as a retained trace has them."""

_MAGIC: Final = b"MTC" + bytes([CONTENT_FORMAT])


def encode_content(content: TraceContent) -> bytes:
    """The bytes of a content: equal contents give equal bytes."""
    slots_after = None if content.slots_after == content.slots_before else _slots(content.slots_after)
    document = {
        "asked": _asked(content.asked),
        "degradations": [[d.section, d.status, d.reason, d.detail] for d in content.degradations],
        "material": [_material(item) for item in content.material],
        "notes": dict(sorted(content.notes.items())),
        "prompt_sha256": content.prompt_sha256,
        "query_terms": content.query_terms,
        "refs": content.refs,
        "salt": content.salt.hex(),
        "section_sha256": dict(sorted(content.section_sha256.items())),
        "session_id": content.session_id,
        "slots_after": slots_after,
        "slots_before": _slots(content.slots_before),
        "turn": _turn_input(content.turn),
        "warnings": content.warnings,
    }
    return _MAGIC + write_json(document).encode()


def decode_content(data: bytes) -> TraceContent:
    """The inverse of `encode_content`. Raises `MalformedTrace` for what it would not have written."""
    if data[:3] != _MAGIC[:3] or len(data) < len(_MAGIC):
        raise MalformedTrace("the content does not begin like one")
    if data[3] != CONTENT_FORMAT:
        raise MalformedTrace(f"the content's format {data[3]} is unknown to this release")
    content = _read(read_json(data[4:], "content"))
    if encode_content(content) != data:
        raise MalformedTrace("the content's bytes are not the canonical ones")
    return content


def _asked(asked: Asked) -> list[object]:
    return [
        asked.policy, asked.provider, asked.model, asked.max_input_tokens, asked.reserve_output_tokens,
        asked.labels, asked.otel_trace_id,
    ]  # fmt: skip


def _material(item: Material) -> list[object]:
    return [item.index, item.text, item.title, item.source, micros(item.read_time), item.document_revision]


def _turn_input(turn: TurnInput) -> list[object]:
    newest = turn.turn
    open_turns = [_turn(each) for each in turn.open_turns]
    return [_turn(newest), turn.question, turn.question_turn_id, micros(turn.question_time), open_turns]


def _turn(turn: Turn) -> list[object]:
    contents = [_content(item) for item in turn.contents]
    return [turn.turn_id, turn.role, turn.speaker, micros(turn.occur_time), contents]


def _content(item: Content) -> list[object]:
    if isinstance(item, Text):
        return ["text", item.text]
    if isinstance(item, ToolCall):
        return ["call", item.call_id, item.tool_name, item.arguments_json]
    return ["result", item.call_id, item.tool_name, item.is_error, item.result_json]


def _slots(slots: Slots) -> list[object]:
    focus = slots.focus
    return [
        focus and [focus.type, focus.id, focus.label, focus.certainty, focus.set_by, focus.turn_id],
        [[f.key, f.value, f.certainty, f.set_by, f.turn_id] for f in slots.filters],
        slots.answer_format,
        [[question.turn_id, question.text] for question in slots.recent_questions],
    ]


def _read(node: Node) -> TraceContent:
    slots_before = _read_slots(node["slots_before"])
    slots_after = node["slots_after"].optional()
    return TraceContent(
        salt=node["salt"].digest(SALT_BYTES),
        session_id=node["session_id"].text(),
        turn=_read_turn_input(node["turn"]),
        asked=_read_asked(node["asked"]),
        material=tuple(_read_material(item) for item in node["material"].items()),
        slots_before=slots_before,
        slots_after=slots_before if slots_after is None else _read_slots(slots_after),
        query_terms=node["query_terms"].texts(),
        refs=tuple(item.texts() for item in node["refs"].items()),
        prompt_sha256=node["prompt_sha256"].text(),
        section_sha256=_read_sections(node["section_sha256"]),
        notes=_read_sections(node["notes"]),
        degradations=tuple(_read_degradation(item) for item in node["degradations"].items()),
        warnings=node["warnings"].texts(),
    )


def _read_asked(node: Node) -> Asked:
    labels = tuple((item[0].text(), item[1].text()) for item in node[5].items())
    return Asked(
        node[0].text(), node[1].text(), node[2].text(), _optional_integer(node[3]),
        _optional_integer(node[4]), labels, node[6].text(),
    )  # fmt: skip


def _optional_integer(node: Node) -> int | None:
    return None if node.optional() is None else node.integer()


def _read_material(node: Node) -> Material:
    read_time, revision = node[4].instant(), node[5].text()
    return Material(node[0].integer(), node[1].text(), node[2].text(), node[3].text(), read_time, revision)


def _read_turn_input(node: Node) -> TurnInput:
    turn = _read_turn(node[0])
    open_turns = tuple(_read_turn(item) for item in node[4].items())
    return TurnInput(turn, node[1].text(), node[2].text(), node[3].instant(), open_turns)


def _read_turn(node: Node) -> Turn:
    contents = tuple(_read_item(item) for item in node[4].items())
    return Turn(node[0].text(), node[1].member(Role), contents, node[3].instant(), node[2].text())


def _read_item(node: Node) -> Content:
    kind = node[0].text()
    if kind == "text":
        return Text(node[1].text())
    if kind == "call":
        return ToolCall(node[1].text(), node[2].text(), node[3].text())
    if kind == "result":
        return ToolResult(node[1].text(), node[2].text(), node[3].flag(), node[4].text())
    raise MalformedTrace(f"{node.path} is of an unknown kind")


def _read_slots(node: Node) -> Slots:
    focus = node[0].optional()
    filters = tuple(_read_filter(item) for item in node[1].items())
    questions = tuple(RecentQuestion(item[0].text(), item[1].text()) for item in node[3].items())
    return Slots(None if focus is None else _read_focus(focus), filters, node[2].text(), questions)


def _read_focus(node: Node) -> Focus:
    certainty = node[3].member(Certainty)
    return Focus(node[0].text(), node[1].text(), node[2].text(), certainty, node[4].text(), node[5].text())


def _read_filter(node: Node) -> Filter:
    certainty = node[2].member(Certainty)
    return Filter(node[0].text(), node[1].text(), certainty, node[3].text(), node[4].text())


def _read_sections(node: Node) -> dict[SectionKind, str]:
    return {Node(name, name, node).member(SectionKind): item.text() for name, item in node.pairs()}


def _read_degradation(node: Node) -> Degradation:
    section, status = node[0].member(SectionKind), node[1].member(SectionStatus)
    return Degradation(section, status, node[2].member(Reason), node[3].text())
