"""Cuts a long text where the counts of the pieces add up exactly to the count of the whole.

Two places are such boundaries in every vocabulary that is shipped, because their pre-tokenizers never reach
across them (held by tests): after a line break, when a letter, `-`, `<`, `[` or `#` follows; and between a
letter and a single space that is followed by a letter.
"""

import re
from collections.abc import Iterator

from gateway.tokenizers.errors import TextTooLargeError

PIECE_CHARACTERS = 32 * 1024
"""Aimed-at length of a piece: a few milliseconds under the interpreter lock, so that other threads go on."""
MAX_RUN_CHARACTERS = 256 * 1024
"""Longest stretch without a boundary. A million emoji in one run hold the lock for more than a second."""

_BOUNDARY = re.compile(r"(?<=\n)(?=[A-Za-z\-<\[#])|(?<=[A-Za-z])(?= [A-Za-z])")


def pieces(text: str, size: int = PIECE_CHARACTERS, max_run: int = MAX_RUN_CHARACTERS) -> Iterator[str]:
    """Pieces of `text` in order, each as short as the boundaries allow once it has `size` characters.

    Raises `TextTooLargeError` where a piece would be longer than `max_run`.
    """
    start = 0
    while start < len(text):
        end = _next_boundary(text, start + size)
        if end - start > max_run:
            raise TextTooLargeError(end - start, max_run, "text without a line break or space between words")
        yield text[start:end]
        start = end


def _next_boundary(text: str, at: int) -> int:
    found = _BOUNDARY.search(text, at) if at < len(text) else None
    return found.start() if found else len(text)
