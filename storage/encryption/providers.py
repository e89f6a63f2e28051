"""The port of master keys: who holds them, and how a tenant's key is wrapped by one.

Shaped so that the master key may never leave its holder. A file holds it here; Vault's Transit engine (`encrypt` and
`decrypt` with `associated_data`) and the key services of the clouds (with an encryption context) fit the same three
methods: what they return as version or key id is the `master_key_id`.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A key as only the holder of the master key `master_key_id` can read it."""

    master_key_id: str
    wrapped: bytes


class KeyProvider(Protocol):
    """Holds master keys. What is out of reach for a while raises `StorageUnavailable`."""

    async def current(self) -> str:
        """The id of the master key that wraps now. Stable: the same key has the same id for ever."""
        ...

    async def wrap(self, key: bytes, place: bytes, /) -> Wrapped:
        """Wrap a key (32 bytes) by the current master key, for a place (see `data_key`)."""
        ...

    async def unwrap(self, wrapped: Wrapped, place: bytes, /) -> bytes:
        """The key that was wrapped for this place.

        Raises `MasterKeyMissing` for an id that is not held, and `MasterKeyWrong` where the key of that id is another.
        """
        ...
