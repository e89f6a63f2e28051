"""Data keys for tests that need none durable: one per user, made when first asked for."""

import hashlib

from assemblers.records import UserRef
from storage.encryption import DataKey
from storage.keys import user_key


class TestKeys:
    """A `Sealer` whose keys follow from the user. `lost` users have none."""

    __test__ = False

    def __init__(self) -> None:
        self.lost: set[UserRef] = set()
        self.salt = b""

    async def for_writing(self, user: UserRef) -> DataKey:
        secret = hashlib.sha256(self.salt + user_key("key of tests", user)).digest()
        return DataKey({1: secret}, 1)

    async def for_reading(self, user: UserRef) -> DataKey | None:
        return None if user in self.lost else await self.for_writing(user)
