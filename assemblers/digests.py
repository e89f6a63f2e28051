"""Digests of a prompt: SHA-256 over a canonical encoding in which every field is preceded by its length.

A text enters the digest of the whole by its own digest, so that what many prompts share is hashed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from assemblers.assembly import Message
from assemblers.records import PrefixRevision, SectionKind, Text, ToolCall, ToolResult

_PREFIX_DOMAIN = "muniment/prefix/1"
_PROMPT_DOMAIN = "muniment/prompt/1"


def digest(fields: Iterable[str]) -> str:
    """SHA-256 (hex) of the fields, each as eight bytes of length (big-endian) and its UTF-8 bytes."""
    encoded = [field.encode() for field in fields]
    return sha256(
        b"".join([part for field in encoded for part in (len(field).to_bytes(8), field)])
    ).hexdigest()


def text_digest(text: str) -> str:
    """SHA-256 (hex) of a text's UTF-8 bytes."""
    return sha256(text.encode()).hexdigest()


def prefix_digest(prefix: PrefixRevision) -> str:
    """The digest of the bytes that a provider sees of a prefix: its text, and each tool's name and definition."""
    tools = [field for tool in prefix.tools for field in (tool.name, tool.definition_json)]
    return digest((_PREFIX_DOMAIN, prefix.text, str(len(prefix.tools)), *tools))


def section_digests(messages: Sequence[Message], known: Mapping[SectionKind, str]) -> dict[SectionKind, str]:
    """SHA-256 (hex) of each section's bytes, its parts joined in order; `known` ones are not hashed again."""
    texts: dict[SectionKind, str] = {}
    for message in messages:
        for section, _, text, _, _ in message.parts:
            texts[section] = texts[section] + text if section in texts else text
    return {section: known.get(section) or text_digest(text) for section, text in texts.items()}


def prompt_digest(
    prefix_sha256: str, messages: Sequence[Message], sections: Mapping[SectionKind, str]
) -> str:
    """The digest of a prompt: of the prefix, of where each part begins and ends, and of each section's bytes.

    SHA-256 (hex) of lines: the name of this encoding and the prefix's digest; for each part the place of its message
    (from 0), role, section, length in characters and form; for each section, in the order of appearance, its name and
    digest. A form is `text`, or `call`, `result` or `error` with call id and tool name, each behind its length.
    """
    lines = [f"{_PROMPT_DOMAIN} {prefix_sha256}\n"]
    for place, (role, parts) in enumerate(messages):
        for section, content, text, _, _ in parts:
            form = "text" if isinstance(content, Text) else _form(content)
            # Formatting a StrEnum gives its value; asking for `.value` runs a Python property.
            lines.append(f"{place} {role} {section} {len(text)} {form}\n")
    lines += [f"{section} {sha256_hex}\n" for section, sha256_hex in sections.items()]
    return text_digest("".join(lines))


def _form(content: ToolCall | ToolResult) -> str:
    kind = "call" if isinstance(content, ToolCall) else "error" if content.is_error else "result"
    return f"{kind} {len(content.call_id)}:{content.call_id} {len(content.tool_name)}:{content.tool_name}"
