"""The spool's keys under the master key: random ones, wrapped like a tenant's."""

import json
from typing import Final

from storage.encryption import DataKey, KeyProvider, Wrapped
from storage.encryption.data_key import new_secret
from storage.errors import StorageDamaged
from storage.keys import build_key
from storage.sql.columns import to_json

_PLACE: Final = build_key("spool_key")
_KEY_NO: Final = 1


class MasterSpoolKeys:
    """The port `SpoolKeys` over the holder of the master keys."""

    def __init__(self, provider: KeyProvider) -> None:
        self._provider = provider

    async def create(self) -> tuple[DataKey, bytes]:
        """A new key, wrapped by the current master key. Raises what the provider raises."""
        secret = new_secret()
        wrapped = await self._provider.wrap(secret, _PLACE)
        form = to_json([wrapped.master_key_id, wrapped.wrapped.hex()])
        return DataKey({_KEY_NO: secret}, _KEY_NO), form

    async def unwrap(self, wrapped: bytes, /) -> DataKey:
        """The key again. Raises `MasterKeyMissing` or `MasterKeyWrong`."""
        try:
            master_key_id, sealed = json.loads(wrapped)
            held = Wrapped(master_key_id, bytes.fromhex(sealed))
        except ValueError:
            raise StorageDamaged("the head of the spool holds no wrapped key") from None
        return DataKey({_KEY_NO: await self._provider.unwrap(held, _PLACE)}, _KEY_NO)
