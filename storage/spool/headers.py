"""The head of the file: which filling it holds and that filling's wrapped key, in two slots that are written in turn.

A new filling begins with the slot that the present one does not use. If that write is torn the present filling still
counts, and its records are drained once more, which changes nothing.
"""

from hashlib import blake2b
from struct import Struct
from typing import Final, NamedTuple

from storage.errors import StorageDamaged

SLOT_BYTES: Final = 4096
"""One page, so that the slots never share a sector."""
DATA_OFFSET: Final = 2 * SLOT_BYTES

_MAGIC: Final = b"MUNSPL\x00\x01"
_FIXED: Final = Struct(">8sQH")
_DIGEST_BYTES: Final = 16
MOST_KEY_BYTES: Final = SLOT_BYTES - _FIXED.size - _DIGEST_BYTES


class Header(NamedTuple):
    """A filling. `generation` counts from 1; the higher one is the present one."""

    generation: int
    wrapped_key: bytes

    @property
    def offset(self) -> int:
        """Where its slot is."""
        return (self.generation % 2) * SLOT_BYTES


def encode_header(header: Header) -> bytes:
    """The slot's bytes."""
    if len(header.wrapped_key) > MOST_KEY_BYTES:
        raise ValueError(f"a wrapped key has at most {MOST_KEY_BYTES} bytes")
    body = _FIXED.pack(_MAGIC, header.generation, len(header.wrapped_key)) + header.wrapped_key
    return (body + _digest(body)).ljust(SLOT_BYTES, b"\x00")


def present_header(slots: bytes) -> Header | None:
    """The present filling, None for a file that never had one. Raises `StorageDamaged` where both slots are broken."""
    found = [_decode(slots[place : place + SLOT_BYTES]) for place in (0, SLOT_BYTES)]
    headers = [header for header in found if header is not None]
    if not headers and any(slots):
        raise StorageDamaged("the head of the spool is damaged: move its file away, and keep it for repair")
    return max(headers, default=None)


def _decode(slot: bytes) -> Header | None:
    if len(slot) < SLOT_BYTES:
        return None
    magic, generation, key_bytes = _FIXED.unpack_from(slot)
    end = _FIXED.size + key_bytes
    if magic != _MAGIC or end + _DIGEST_BYTES > SLOT_BYTES:
        return None
    if _digest(slot[:end]) != slot[end : end + _DIGEST_BYTES]:
        return None
    return Header(generation, slot[_FIXED.size : end])


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST_BYTES).digest()
