"""Frames: how records stand in the file, so that what was torn by a crash is told from what was written whole.

A frame is its payload's length, a digest, and the payload. The digest covers the digest of the frame before, so a frame
counts only behind the very frames that it was written behind: neither leftovers of an earlier filling nor the whole end
of a write whose beginning was torn can come back to life.
"""

from collections.abc import Iterator
from hashlib import blake2b
from struct import Struct
from typing import Final, NamedTuple, Protocol

_LENGTH: Final = Struct(">I")
_DIGEST_BYTES: Final = 16
HEAD_BYTES: Final = _LENGTH.size + _DIGEST_BYTES
"""What a frame takes beside its payload."""
MOST_PAYLOAD_BYTES: Final = 16 * 2**20
"""More than any trace of a request of 1 MiB; a length beyond it is no length."""


class Frame(NamedTuple):
    """A payload at its place: `offset` is that of the frame, `digest` what the next frame's covers."""

    offset: int
    payload: bytes
    digest: bytes

    @property
    def end(self) -> int:
        """Where the next frame begins."""
        return self.offset + HEAD_BYTES + len(self.payload)


class Read(Protocol):
    """Reads up to `size` bytes at an offset; fewer only at the end of the file."""

    def __call__(self, offset: int, size: int, /) -> bytes: ...


def first_digest(generation: int) -> bytes:
    """What the first frame of a filling covers."""
    return blake2b(b"muniment/spool/%d" % generation, digest_size=_DIGEST_BYTES).digest()


def digest_of(previous: bytes, payload: bytes) -> bytes:
    """A frame's digest."""
    return blake2b(previous + _LENGTH.pack(len(payload)) + payload, digest_size=_DIGEST_BYTES).digest()


def encode_frame(payload: bytes, digest: bytes) -> bytes:
    """The frame's bytes."""
    return _LENGTH.pack(len(payload)) + digest + payload


def scan(read: Read, start: int, end: int, first: bytes) -> Iterator[Frame]:
    """The frames from `start` on, up to the first that is not whole or passes `end`."""
    offset, previous = start, first
    while offset + HEAD_BYTES <= end:
        head = read(offset, HEAD_BYTES)
        if len(head) < HEAD_BYTES:
            return
        (size,) = _LENGTH.unpack_from(head)
        if size > MOST_PAYLOAD_BYTES or offset + HEAD_BYTES + size > end:
            return
        payload = read(offset + HEAD_BYTES, size)
        if len(payload) < size or digest_of(previous, payload) != head[_LENGTH.size :]:
            return
        frame = Frame(offset, payload, head[_LENGTH.size :])
        yield frame
        offset, previous = frame.end, frame.digest
