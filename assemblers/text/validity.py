"""Says which texts are refused at the door, the same on every storage backend."""

import re

_ID = re.compile(r"[A-Za-z0-9._:@|+=/-]{1,128}")
_INVALID = re.compile("[\x00\ud800-\udfff]")


def is_id(text: str) -> bool:
    """Whether the text may be an id: 1 to 128 letters, digits and `._:@|+=/-`, compared byte by byte."""
    return _ID.fullmatch(text) is not None


def find_invalid(text: str) -> str | None:
    """Why the text cannot be stored or sent (NUL or a lone surrogate, with its place), or None where it can.

    The reason quotes nothing of the text. Places count characters from 0.
    """
    if text.isascii() and "\x00" not in text:
        return None
    match = _INVALID.search(text)
    if match is None:
        return None
    what = "the NUL character (U+0000)" if match.group() == "\x00" else "a lone surrogate"
    return f"contains {what} at character {match.start()}"
