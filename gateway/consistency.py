"""Consistency tokens: epochs in a form that clients carry from a write to a read, opaque and granting nothing.

Whoever makes one up learns nothing: a token only asks a read to be as new as it says. Its digest tells a client that
mixed up its strings.
"""

import base64
import binascii
from functools import lru_cache
from hashlib import blake2b
from struct import Struct
from typing import Final

from gateway.errors import FailedPrecondition, InvalidArgument, Reason
from storage.ports.epochs import Epochs

_FORM: Final = Struct(">BQQQ")
_VERSION: Final = 1
_DIGEST_BYTES: Final = 4


# Most users do not change from call to call.
@lru_cache(maxsize=4096)
def encode_token(epochs: Epochs) -> str:
    """The token that stands for these epochs."""
    body = _FORM.pack(_VERSION, epochs.facts, epochs.archive, epochs.tenant)
    return base64.urlsafe_b64encode(body + _digest(body)).rstrip(b"=").decode()


def decode_token(field: str, token: str) -> Epochs:
    """The epochs that a token stands for. Raises InvalidArgument for one that was never given out.

    `field` is the token's path in the request.
    """
    try:
        raw = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _unknown(field) from None
    body, digest = raw[: _FORM.size], raw[_FORM.size :]
    if len(body) < _FORM.size or digest != _digest(body):
        raise _unknown(field)
    version, *epochs = _FORM.unpack(body)
    if version != _VERSION:
        raise _unknown(field)
    return Epochs(*epochs)


def not_seen(field: str = "consistency.token") -> FailedPrecondition:
    """The storage is behind a token: what it stands for was never written here, or is no more."""
    return FailedPrecondition(
        Reason.CONSISTENCY_UNKNOWN,
        f"{field}: the storage has not seen the write that it stands for: it belongs to another user or installation, "
        "or a backup was restored since. Ask without it",
        {"field": field},
    )


def _unknown(field: str) -> InvalidArgument:
    return InvalidArgument.of(
        field,
        "was not given out by any method: send the read_token or write_token of an earlier answer as it was, or leave "
        "consistency unset",
    )


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST_BYTES, person=b"consistency").digest()
