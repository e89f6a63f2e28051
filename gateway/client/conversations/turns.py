"""Turns and material of a conversation, from their lines."""

import json
from datetime import datetime

from gateway.client.conversations.fields import Fields
from gateway.client.conversations.rules import check
from muniment.v1.context_pb2 import Material
from muniment.v1.types_pb2 import Content, Role, ToolCall, ToolResult, Turn

_ROLES = ("USER", "ASSISTANT", "TOOL")
_CONTENTS = {"USER": "text", "ASSISTANT": "text or tool_calls", "TOOL": "tool_results"}


def read_turn(fields: Fields, default_id: str) -> Turn:
    """A turn; without `turn_id` it takes the default."""
    role = fields.choice("role", _ROLES)
    turn = Turn(
        turn_id=fields.text("turn_id", default_id),
        role=Role.Value(f"ROLE_{role}"),
        speaker=fields.text("speaker", ""),
        contents=_contents(fields, role),
    )
    if fields.has("at"):
        turn.occur_time.FromDatetime(fields.instant("at"))
    check(turn, fields)
    return turn


def _contents(fields: Fields, role: str) -> list[Content]:
    contents = []
    if fields.has("text"):
        contents.append(Content(text=fields.text("text")))
    contents += [Content(tool_call=call) for call in fields.each("tool_calls", _call)]
    contents += [Content(tool_result=result) for result in fields.each("tool_results", _result)]
    wanted = _CONTENTS[role]
    if not contents:
        fields.refuse("", f"says nothing: a turn of role {role} has {wanted}")
    for content in contents:
        kind = {"tool_call": "tool_calls", "tool_result": "tool_results"}.get(
            content.WhichOneof("content") or "", "text"
        )
        if kind not in wanted:
            fields.refuse(kind, f"does not fit the role {role}, which has {wanted}")
    if role == "USER" and not contents[0].text.strip():
        fields.refuse("text", "is blank: write the question")
    return contents


def _call(fields: Fields) -> ToolCall:
    arguments = json.dumps(fields.raw_object("arguments", {}), ensure_ascii=False)
    return ToolCall(
        call_id=fields.text("call_id"), tool_name=fields.text("tool_name"), arguments_json=arguments
    )


def _result(fields: Fields) -> ToolResult:
    return ToolResult(
        call_id=fields.text("call_id"),
        tool_name=fields.text("tool_name"),
        is_error=fields.flag("is_error"),
        result_json=json.dumps(fields.value("result"), ensure_ascii=False),
    )


def read_material(fields: Fields, now: datetime) -> Material:
    """A document that was brought for the next question."""
    material = Material(
        text=fields.text("text"),
        title=fields.text("title", ""),
        source=fields.text("source"),
        document_revision=fields.text("document_revision", ""),
    )
    read = fields.instant("read", "now")
    if read > now:
        fields.refuse("read", "is in the future: material was read before the question")
    material.read_time.FromDatetime(read)
    check(material, fields)
    return material
