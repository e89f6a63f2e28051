"""The smallest rendered unit: a text that one item owns, with its size in bytes and in tokens.

Counts of pieces add up because of how they begin and end: an item's line starts with `- ` and ends in exactly one
line feed, a heading starts with a letter or digit and ends in exactly one line feed. Only the last piece of a message
may be anything else, and only behind such a line's end (the question stands behind its label, and both are one text
to the counter).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from assemblers.assembly import Part, Source, SourceKind, Span
from assemblers.records import SectionKind, Text
from assemblers.text import inline
from assemblers.tokens import TokenCounter

# Named tuples on the hot path are made without their own __new__, a Python function that costs more than the tuple.
_new = tuple.__new__


class Piece(NamedTuple):
    """A rendered text, its length in UTF-8 bytes and in raw tokens, and whose it is."""

    text: str
    size: int
    tokens: int
    item_id: str
    source: Source


def byte_length(text: str) -> int:
    """UTF-8 bytes of `text`."""
    return len(text) if text.isascii() else len(text.encode())


def piece(counter: TokenCounter, text: str, item_id: str, source: Source) -> Piece:
    """A counted piece."""
    size = len(text) if text.isascii() else len(text.encode())
    return _new(Piece, (text, size, counter.count(text), item_id, source))


def policy_text(field: str, observe_time: datetime | None = None) -> Source:
    """The origin of a text that the policy wrote, by the path of its field."""
    return Source(SourceKind.POLICY_TEXT, field, observe_time)


def heading(counter: TokenCounter, text: str, field: str, after: str = "") -> tuple[Piece, ...]:
    """A heading's line, then `after` (whole lines of markup); nothing for a blank heading and no markup."""
    line = heading_line(text)
    if not line and not after:
        return ()
    return (piece(counter, line + after, f"policy/{field}", policy_text(field)),)


def heading_line(text: str) -> str:
    """The policy's text as a line of its own, "" where it is blank."""
    shown = inline(text)
    if not shown:
        return ""
    # A slash after a line's end merges with it into one token, so a line must not start with just anything.
    return f"{shown}\n" if shown[0].isalnum() else f"- {shown}\n"


def make_part(section: SectionKind, pieces: Sequence[Piece], tokens: int) -> Part:
    """A text part of `pieces` in order; `tokens` is the count of the whole."""
    texts, spans, offset = [], [], 0
    for text, size, _, item_id, source in pieces:
        texts.append(text)
        spans.append(_new(Span, (offset, size, item_id, source)))
        offset += size
    joined = "".join(texts)
    return _new(Part, (section, Text(joined), joined, tuple(spans), tokens))


def total_tokens(pieces: Sequence[Piece]) -> int:
    """The raw tokens of pieces that stand behind each other."""
    return sum(item.tokens for item in pieces)
