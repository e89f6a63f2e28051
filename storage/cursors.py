"""Opaque page cursors: the position after which a page begins, and nothing that grants anything.

The tenant and user of a page come from the request each time; a cursor from somewhere else only means another position
within what the caller may see anyway.
"""

import base64
import binascii
import re
from typing import Final

from storage.errors import InvalidCursor

# More digits would not fit a 64-bit integer column, and the driver would say so in its own words.
_NUMBER: Final = re.compile(rb"-?[0-9]{1,18}")


def encode_position(position: int | str) -> str:
    """A cursor for a position; numbers and names are told apart."""
    raw = b"n%d" % position if isinstance(position, int) else b"s" + position.encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode_number(cursor: str, start: int) -> int:
    """The number in a cursor, or `start` for "". Raises `InvalidCursor` for anything else."""
    if not cursor:
        return start
    digits = _decode(cursor, b"n")
    if not _NUMBER.fullmatch(digits):
        raise InvalidCursor
    return int(digits)


def decode_name(cursor: str) -> str:
    """The name in a cursor, or "" for "", which sorts before every name. Raises `InvalidCursor` for anything else."""
    if not cursor:
        return ""
    try:
        return _decode(cursor, b"s").decode()
    except UnicodeDecodeError:
        raise InvalidCursor from None


def _decode(cursor: str, kind: bytes) -> bytes:
    try:
        raw = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidCursor from None
    if raw[:1] != kind:
        raise InvalidCursor
    return raw[1:]
