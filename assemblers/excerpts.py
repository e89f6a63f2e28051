"""Cuts an archived turn into excerpts and words the text under which an excerpt is indexed."""

from collections.abc import Iterator
from datetime import date
from typing import Final

import regex

MAX_EXCERPT_CHARACTERS: Final[int] = 1200
"""About 300 tokens of English: a longer turn would crowd out the rest of a history section."""

INDEX_TEXT_FORMAT: Final[int] = 1
"""Version of the form of ``index_text``; part of the id of every vector space, since vectors move with it."""

_MONTHS: Final[tuple[str, ...]] = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

_GRAPHEME: Final = regex.compile(r"\X")
# Possessive: a run of closing marks or spaces is never tried again shorter, so hostile runs stay linear.
_SENTENCE: Final = regex.compile(
    r"(?:[.!?\u2026][\p{Pe}\p{Pf}\"']*+\s|[\u3002\uff01\uff1f]|[\n\u2029])[\s\p{Pe}\p{Pf}]*+"
)
_WORD: Final = regex.compile(r"\s++")


def cut_excerpts(text: str, limit: int = MAX_EXCERPT_CHARACTERS) -> list[str]:
    """Pieces of ``text`` of at most ``limit`` characters (code points); joined, they are ``text`` again.

    A text within the limit stays whole; a blank one gives no piece. A longer one is cut after a sentence,
    else after a word, in the second half of what fits, else between graphemes. A single grapheme longer than
    the limit is kept whole: it is the one case of a longer piece. Raises ``ValueError`` for a limit below 1.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1 character, not {limit}")
    if not text.strip():
        return []
    if len(text) <= limit:
        return [text]
    return list(_pieces(text, limit))


def index_text(speaker: str, day: date, text: str) -> str:
    """``Speaker (08 May 2023): text``: who and when are terms of their own, so a question finds by them.

    ``day`` is the day of the turn in the time zone that the excerpt is dated in. Never depends on a locale.
    """
    return f"{speaker} ({day.day:02d} {_MONTHS[day.month - 1]} {day.year}): {text}"


def _pieces(text: str, limit: int) -> Iterator[str]:
    start = 0
    while len(text) - start > limit:
        length = _cut_length(text[start : start + 2 * limit], limit) or _first_grapheme(text, start)
        yield text[start : start + length]
        start += length
    if start < len(text):
        yield text[start:]


def _cut_length(window: str, limit: int) -> int:
    """Length of the piece that opens ``window``; 0 if not even its first grapheme fits.

    ``window`` begins at the beginning of a grapheme and reaches beyond ``limit``. It is a copy of its own
    because ``\\X`` looks back along flags to the beginning of the string, which is quadratic in a long one.
    """
    ends = _grapheme_ends(window, limit)
    latest = max(ends, default=0)
    for boundary in (_SENTENCE, _WORD):
        cuts = ends.intersection(match.end() for match in boundary.finditer(window, 0, latest))
        cut = max(cuts, default=0)
        if 2 * cut >= limit:
            return cut
    return latest


def _grapheme_ends(window: str, limit: int) -> set[int]:
    if window.isascii() and "\r" not in window:
        # Nothing but CR LF joins two characters of ASCII; the general way takes thirty times as long.
        return set(range(1, limit + 1))
    ends: set[int] = set()
    for match in _GRAPHEME.finditer(window):
        end = match.end()
        if end > limit:
            break
        ends.add(end)
    return ends


def _first_grapheme(text: str, start: int) -> int:
    match = _GRAPHEME.match(text[start:])
    assert match is not None, "every character begins some grapheme"
    return len(match[0])
