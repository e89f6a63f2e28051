"""The forms that values take in columns: microseconds for instants, canonical JSON for structures, on every backend."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from json.encoder import encode_basestring as _quoted
from typing import Final

from assemblers.records import (
    Content,
    FactValue,
    PrefixRevision,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    ValueType,
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

MAX_NUMBER: Final = 2**63 - 1
"""The largest number of a column."""


def to_micros(instant: datetime) -> int:
    """Microseconds since 1970 of an aware instant, exactly."""
    return (instant - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The instant in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


# `json.dumps` makes an encoder at each call where anything is not its default.
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def to_json(value: object) -> bytes:
    """Compact JSON with sorted keys. Text stays as it is, so that what is stored is what was given, byte for byte."""
    return _ENCODE(value).encode()


def value_to_content(value: FactValue) -> bytes:
    """A fact's value as its content bytes."""
    return to_json(to_micros(value) if isinstance(value, datetime) else value)


def value_from_content(kind: ValueType, content: bytes | None) -> FactValue:
    """A fact's value from its content; an erased one reads as ""."""
    if content is None:
        return ""
    value: str | int | float | bool = json.loads(content)
    if kind is ValueType.INSTANT:
        return from_micros(int(value))
    return float(value) if kind is ValueType.NUMBER else value


def contents_to_json(contents: tuple[Content, ...]) -> bytes:
    """A turn's contents, each as a list that begins with its kind."""
    return f"[{','.join([_content_json(content) for content in contents])}]".encode()


def _content_json(content: Content) -> str:
    match content:
        case Text(text):
            # Nearly every turn is one text, on the path of each assembly: the same bytes, in a sixth of the time.
            return f'["text",{_quoted(text)}]'
        case ToolCall(call_id, tool_name, arguments_json):
            return _ENCODE(["call", call_id, tool_name, arguments_json])
        case ToolResult(call_id, tool_name, is_error, result_json):
            return _ENCODE(["result", call_id, tool_name, is_error, result_json])


def contents_from_json(raw: bytes) -> tuple[Content, ...]:
    """A turn's contents, as `contents_to_json` wrote them."""
    return tuple(_CONTENTS[kind](*fields) for kind, *fields in json.loads(raw))


_CONTENTS: Final[Mapping[str, type[Text] | type[ToolCall] | type[ToolResult]]] = {
    "text": Text,
    "call": ToolCall,
    "result": ToolResult,
}


def prefix_to_json(prefix: PrefixRevision) -> bytes:
    """What a prefix revision says, without its names and time."""
    tools = [[tool.name, tool.definition_json] for tool in prefix.tools]
    return to_json({"text": prefix.text, "tools": tools, "allowed_patterns": list(prefix.allowed_patterns)})


def prefix_from_json(tenant_id: str, prefix_id: str, digest: str, created: int, raw: bytes) -> PrefixRevision:
    """The prefix revision of these names and creation time, as `prefix_to_json` wrote it."""
    fields = json.loads(raw)
    return PrefixRevision(
        tenant_id=tenant_id,
        prefix_id=prefix_id,
        digest=digest,
        text=fields["text"],
        tools=tuple(ToolDefinition(name, definition) for name, definition in fields["tools"]),
        create_time=from_micros(created),
        allowed_patterns=tuple(fields["allowed_patterns"]),
    )


def terms_to_json(terms: Mapping[str, int]) -> bytes:
    """An excerpt's index terms with their frequencies."""
    return to_json(dict(terms))


def terms_from_json(raw: bytes) -> dict[str, int]:
    """An excerpt's index terms, as `terms_to_json` wrote them."""
    terms: dict[str, int] = json.loads(raw)
    return terms
