"""Shortens a text without breaking what a reader takes for one character."""

import unicodedata

import regex

ELLIPSIS = "…"
_GRAPHEME = regex.compile(r"\X")


def shorten(text: str, limit: int) -> str:
    """The text in NFC, with at most `limit` characters (code points); a shortened one ends in `…`.

    Cuts between words where a word ends in the second half of the room, else between graphemes. A limit of 0
    or less gives the empty text.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if len(text) <= limit:
        return text
    if limit <= 0:
        return ""
    head = text[: _last_boundary(text, limit - 1)]
    if not text[len(head)].isspace():
        head = _whole_words(head)
    return head.rstrip() + ELLIPSIS


def _last_boundary(text: str, room: int) -> int:
    boundary = 0
    for match in _GRAPHEME.finditer(text):
        if match.end() > room:
            break
        boundary = match.end()
    return boundary


def _whole_words(head: str) -> str:
    for index in range(len(head) - 1, len(head) // 2, -1):
        if head[index].isspace():
            return head[:index]
    return head
