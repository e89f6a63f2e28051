"""The spool's file: of fixed size from the start, so that it serves when the disk is full; held by one process.

Everything here blocks; `spool` runs it on a thread.
"""

import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, Self

from storage.errors import StorageDamaged, StorageFull, StorageUnavailable
from storage.spool.frames import HEAD_BYTES, digest_of, encode_frame, first_digest, scan
from storage.spool.headers import DATA_OFFSET, Header, encode_header, present_header

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)


class Place(NamedTuple):
    """Where a payload stands in the file, in bytes."""

    offset: int
    size: int


class SpoolFile:
    """One open, locked file. `header` is None until the first filling began."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._capacity = 0
        self._tail, self._digest = DATA_OFFSET, b""
        self.header: Header | None = None

    @classmethod
    def open(cls, path: Path) -> Self | None:
        """The file, made where it is missing; None where another process holds it. Raises `StorageUnavailable`."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            raise StorageUnavailable("the spool's file cannot be made or opened") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return cls(path, descriptor)

    @property
    def capacity(self) -> int:
        """The bytes of records that fit into the file."""
        return self._capacity - DATA_OFFSET

    @property
    def used(self) -> int:
        """The bytes that records take now, drained ones too until the filling ends."""
        return self._tail - DATA_OFFSET

    def fits(self, payload_bytes: int, more: int = 0) -> bool:
        """Whether a payload fits behind what is there and `more` bytes of frames before it."""
        return self._tail + more + HEAD_BYTES + payload_bytes <= self._capacity

    def recover(self) -> list[Place]:
        """Read what is there: the header, and where the records of the present filling are.

        Raises `StorageDamaged` where there is no telling.
        """
        with _failures():
            size = os.fstat(self._descriptor).st_size
            self.header = present_header(self._read(0, min(size, DATA_OFFSET)))
            if self.header is None:
                return []
            self._digest = first_digest(self.header.generation)
            places = []
            for frame in scan(self._read, DATA_OFFSET, size, self._digest):
                places.append(Place(frame.offset + HEAD_BYTES, len(frame.payload)))
                self._tail, self._digest = frame.end, frame.digest
            return places

    def allocate(self, size: int) -> None:
        """Take the room on the disk, `size` bytes or what the records take already. Raises `StorageFull`."""
        with _failures():
            self._capacity = max(size, self._tail, DATA_OFFSET)
            os.ftruncate(self._descriptor, self._capacity)
            os.posix_fallocate(self._descriptor, 0, self._capacity)
            os.fsync(self._descriptor)
            _sync_folder(self.path.parent)

    def begin(self, wrapped_key: bytes) -> None:
        """Begin a new filling: every record that is there is over and done with."""
        generation = 1 if self.header is None else self.header.generation + 1
        header = Header(generation, wrapped_key)
        with _failures():
            self._write(encode_header(header), header.offset)
        self.header, self._tail, self._digest = header, DATA_OFFSET, first_digest(generation)

    def append(self, payloads: Sequence[bytes]) -> list[Place]:
        """Write records behind the others, durable when this returns. They must fit. Nothing counts if it raises."""
        frames, places = [], []
        offset, digest = self._tail, self._digest
        for payload in payloads:
            digest = digest_of(digest, payload)
            frames.append(encode_frame(payload, digest))
            places.append(Place(offset + HEAD_BYTES, len(payload)))
            offset += HEAD_BYTES + len(payload)
        with _failures():
            self._write(b"".join(frames), self._tail)
        self._tail, self._digest = offset, digest
        return places

    def read(self, place: Place) -> bytes:
        """A record's payload. Raises `StorageDamaged` where it is cut short."""
        with _failures():
            payload = self._read(place.offset, place.size)
        if len(payload) < place.size:
            raise StorageDamaged("the spool's file is shorter than its records")
        return payload

    def close(self) -> None:
        """Let go of the file, and of its lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def remove(self) -> None:
        """Give the room back to the disk, and let go."""
        with suppress(OSError):
            self.path.unlink()
        self.close()

    def _read(self, offset: int, size: int) -> bytes:
        parts = []
        while size > 0:
            part = os.pread(self._descriptor, size, offset)
            if not part:
                break
            parts.append(part)
            offset, size = offset + len(part), size - len(part)
        return b"".join(parts)

    def _write(self, content: bytes, offset: int) -> None:
        view = memoryview(content)
        while view:
            written = os.pwrite(self._descriptor, view, offset)
            view, offset = view[written:], offset + written
        os.fdatasync(self._descriptor)


@contextmanager
def _failures() -> Iterator[None]:
    """What the system says of a file as errors of `storage.errors`, without its path."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise StorageFull("there is no room on the disk for the spool") from None
        raise StorageUnavailable("the spool's file cannot be read or written") from None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
