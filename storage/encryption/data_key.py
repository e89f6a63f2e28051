"""A data key: seals content so that it opens only in its own place, and only if nobody changed it.

Sealed form: 1 byte version, 4 bytes number of the key (big-endian), 12 bytes nonce, then ciphertext and tag of
AES-256-GCM. The associated data are the first five bytes and the place. A place names the column and the row, so what
is moved to another row, user or tenant does not open. Nonces are random: a key may seal 2^32 times before two of them
meet with a chance of 2^-32, which is far more than one user writes.
"""

import hmac
import os
from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from storage.encryption.errors import UnknownKey
from storage.errors import StorageDamaged

KEY_BYTES: Final = 32
OVERHEAD: Final = 33
"""Bytes by which what is sealed is longer than the content."""
MAX_KEY_NO: Final = 2**32 - 1
_FINGERPRINTS: Final = b"muniment/fingerprints/1"
_VERSION: Final = b"\x01"
_HEADER: Final = 5
_NONCE: Final = 12


class DataKey:
    """The versions of one owner's key, by number. Seals under `key_no`, opens what any of them sealed."""

    __slots__ = ("_cipher", "_ciphers", "_header", "fingerprints", "key_no")

    def __init__(self, secrets: Mapping[int, bytes], key_no: int, fingerprints: bytes = b"") -> None:
        """`secrets` are 32 bytes each; `key_no` is one of their numbers, from 1. `fingerprints` is the key of those;
        without one it follows from the first version, since fingerprints are compared for longer than versions seal."""
        self.key_no = key_no
        self.fingerprints = fingerprints or hmac.digest(secrets[min(secrets)], _FINGERPRINTS, "sha256")
        self._ciphers = {key_header(no): AESGCM(secret) for no, secret in secrets.items()}
        self._header = key_header(key_no)
        self._cipher = self._ciphers[self._header]

    def seal(self, place: bytes, content: bytes) -> bytes:
        """Seal content for a place."""
        nonce = os.urandom(_NONCE)
        return self._header + nonce + self._cipher.encrypt(nonce, content, self._header + place)

    def open(self, place: bytes, sealed: bytes) -> bytes:
        """The content of what was sealed for this place. Raises `StorageDamaged` where it was not, or was changed."""
        header = sealed[:_HEADER]
        cipher = self._ciphers.get(header)
        if cipher is None:
            raise _unknown(sealed)
        try:
            return cipher.decrypt(
                sealed[_HEADER : _HEADER + _NONCE], sealed[_HEADER + _NONCE :], header + place
            )
        except (InvalidTag, ValueError):  # ValueError: too short for a nonce
            raise StorageDamaged("stored content was changed, or moved from where it belongs") from None

    def fingerprint(self, place: bytes, content: bytes) -> bytes:
        """32 bytes that are the same for the same content in the same place, and say nothing without the key."""
        return hmac.digest(self.fingerprints, place + content, "sha256")


def key_header(key_no: int) -> bytes:
    """The first bytes of all that is sealed under the key of this number."""
    return _VERSION + key_no.to_bytes(4, "big")


def new_secret() -> bytes:
    """A fresh random key."""
    return os.urandom(KEY_BYTES)


def _unknown(sealed: bytes) -> StorageDamaged:
    if sealed[:1] != _VERSION or len(sealed) < OVERHEAD:
        return StorageDamaged("stored content is not in the form of what is encrypted")
    return UnknownKey("stored content is encrypted under a key that its owner does not have")
