"""Page tokens: opaque, bound to the method and arguments of the list that gave them out, and granting nothing.

A token is a cursor under a digest. It is no secret: whoever makes one up only moves within what the request, which
is checked like any other, may see anyway. The digest tells a client that mixed up its tokens, instead of a wrong
page.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass

from gateway.errors import InvalidArgument, Reason
from storage.ports import PageRequest

DEFAULT_PAGE_SIZE = 50
_DIGEST_BYTES = 12


@dataclass(frozen=True, slots=True)
class Pager:
    """The tokens of one list. `arguments` are the request's bytes without page size and token, in a fixed encoding.

    The page size is free to change between pages.
    """

    method: str
    arguments: bytes

    def request(self, page_token: str, page_size: int) -> PageRequest:
        """The page asked for; size 0 means 50. Raises InvalidArgument for a token that is not this list's."""
        return PageRequest(page_size or DEFAULT_PAGE_SIZE, self._cursor(page_token) if page_token else "")

    def token(self, cursor: str) -> str:
        """The token for a store's cursor; "" stays "", there is no further page."""
        if not cursor:
            return ""
        return base64.urlsafe_b64encode(self._digest(cursor.encode()) + cursor.encode()).rstrip(b"=").decode()

    def _cursor(self, token: str) -> str:
        raw = _decode(token)
        digest, cursor = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
        if not cursor or digest != self._digest(cursor):
            raise invalid_token()
        try:
            return cursor.decode()
        except UnicodeDecodeError:
            raise invalid_token() from None

    def _digest(self, cursor: bytes) -> bytes:
        # Lengths in front, so that no two different triples give the same bytes.
        method = self.method.encode()
        head = b"%d:%d:" % (len(method), len(self.arguments))
        return hashlib.sha256(head + method + self.arguments + cursor).digest()[:_DIGEST_BYTES]


def invalid_token() -> InvalidArgument:
    """The error for a token that this list has not given out; also for a cursor that the store refuses."""
    return InvalidArgument.of(
        "page_token",
        "was not given out by this method for these arguments: repeat the arguments of the first page, or leave "
        "it empty to begin anew",
        Reason.PAGE_TOKEN_INVALID,
    )


def _decode(token: str) -> bytes:
    try:
        raw = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise invalid_token() from None
    # Base64 has several spellings for one value where bits are left over: only ours is taken.
    if base64.urlsafe_b64encode(raw).rstrip(b"=") != token.encode("ascii"):
        raise invalid_token()
    return raw
