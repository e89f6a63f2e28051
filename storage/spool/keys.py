"""What the spool asks of encryption: a fresh key for each filling, kept wrapped in the file's own header.

A filling that was drained is overwritten only as far as the next one goes. Since its key is gone with its header, what
is left of it on the disk cannot be read by anybody.
"""

from typing import Protocol


class Sealer(Protocol):
    """A key that seals bytes to a place: they open nowhere else."""

    def seal(self, place: bytes, content: bytes, /) -> bytes: ...
    def open(self, place: bytes, sealed: bytes, /) -> bytes: ...


class SpoolKeys(Protocol):
    """Makes keys and opens wrapped ones."""

    async def create(self) -> tuple[Sealer, bytes]:
        """A new key, and its wrapped form for the header (at most 2 KiB)."""
        ...

    async def unwrap(self, wrapped: bytes, /) -> Sealer:
        """The key again. Raises an error of `storage.errors` where it cannot be opened here."""
        ...
