"""Master keys from a file, which may change while it is used."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from storage.encryption.errors import KeyFileError, MasterKeyMissing, MasterKeyWrong
from storage.encryption.key_file import MasterKey, read_key_file
from storage.encryption.providers import Wrapped
from storage.keys import build_key

_NONCE: Final = 12
_Stamp = tuple[int, int, int]


class FileKeyProvider:
    """The port `KeyProvider` on a key file (see `key_file`). Wrapped form: 12 bytes nonce, then AES-256-GCM.

    The file is read again where it changed before something is wrapped, and for an id that is not known: so a
    gateway that runs follows a rotation by itself. A file that became unusable since leaves what was read in force.
    """

    def __init__(self, path: Path) -> None:
        """Read the file. Raises `KeyFileError`."""
        self._path = path
        self._stamp = _stamp(path)
        self._keys: Mapping[str, MasterKey] = {}
        self._current = self._take(read_key_file(path))

    async def current(self) -> str:
        """The id of the file's first key."""
        await self._follow()
        return self._current.key_id

    async def wrap(self, key: bytes, place: bytes, /) -> Wrapped:
        """Wrap a key by the file's first key."""
        await self._follow()
        master = self._current
        nonce = os.urandom(_NONCE)
        sealed = AESGCM(master.secret).encrypt(nonce, key, _bound(master.key_id, place))
        return Wrapped(master.key_id, nonce + sealed)

    async def unwrap(self, wrapped: Wrapped, place: bytes, /) -> bytes:
        """Unwrap a key by the master key of its id."""
        master = await self._find(wrapped.master_key_id)
        nonce, sealed = wrapped.wrapped[:_NONCE], wrapped.wrapped[_NONCE:]
        try:
            return AESGCM(master.secret).decrypt(nonce, sealed, _bound(master.key_id, place))
        except (InvalidTag, ValueError):
            raise MasterKeyWrong(master.key_id) from None

    async def _find(self, key_id: str) -> MasterKey:
        if key_id not in self._keys:
            await self._follow()
        if key_id not in self._keys:
            raise MasterKeyMissing(key_id)
        return self._keys[key_id]

    async def _follow(self) -> None:
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        try:
            keys = await asyncio.to_thread(read_key_file, self._path)
        except KeyFileError:
            return
        self._stamp, self._current = stamp, self._take(keys)

    def _take(self, keys: tuple[MasterKey, ...]) -> MasterKey:
        self._keys = {key.key_id: key for key in keys}
        return keys[0]


def _stamp(path: Path) -> _Stamp:
    """What changes with a replaced file. Nothing for one that is not there."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0, 0
    return status.st_ino, status.st_mtime_ns, status.st_size


def _bound(key_id: str, place: bytes) -> bytes:
    return build_key("muniment/wrapped/1", key_id) + place
