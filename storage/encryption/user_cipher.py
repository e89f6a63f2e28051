"""What the stores seal and open a user's columns with: its data key, tied to the places of its rows."""

from assemblers.records import UserRef
from storage.encryption.data_key import DataKey
from storage.encryption.key_ring import KeyRing
from storage.encryption.places import REQUEST_BODY, column_place, owner_place
from storage.keys import build_key


class UserCipher:
    """Seals and opens columns of one user's rows, or of rows that belong to a tenant (then the user id is "")."""

    __slots__ = ("_key", "_owner", "user")

    def __init__(self, user: UserRef, key: DataKey) -> None:
        self.user, self._key, self._owner = user, key, owner_place(user)

    def seal(self, column: str, content: bytes, *identity: str) -> bytes:
        """Seal what a column (`storage.encryption.places`) holds in the row of this identity."""
        return self._key.seal(self._place(column, identity), content)

    def open(self, column: str, sealed: bytes, *identity: str) -> bytes:
        """What the column of that row holds. Raises `StorageDamaged` where it was sealed for another or changed."""
        return self._key.open(self._place(column, identity), sealed)

    def fingerprint(self, body_sha256: bytes) -> bytes:
        """What is stored in place of a request's digest, by which a short request could be guessed."""
        return self._key.fingerprint(self._place(REQUEST_BODY, ()), body_sha256)

    def _place(self, column: str, identity: tuple[str, ...]) -> bytes:
        # As `row_place` has it; an archive is opened with a hundred thousand of them.
        return column_place(column) + self._owner + build_key(*identity)


async def writing_cipher(keys: KeyRing, user: UserRef) -> UserCipher:
    """For a write; the user's key is made where there is none."""
    return UserCipher(user, keys.peek(user) or await keys.for_writing(user))


async def reading_cipher(keys: KeyRing, user: UserRef) -> UserCipher | None:
    """For a read; None where nothing is stored for the user that is sealed, for a key comes before what it seals."""
    key = keys.peek(user) or await keys.for_reading(user)
    return None if key is None else UserCipher(user, key)


async def tenant_cipher(keys: KeyRing, tenant_id: str) -> UserCipher:
    """For a write that belongs to a tenant and no user; the tenant's key is made where there is none."""
    key = keys.peek_tenant(tenant_id) or await keys.tenant_for_writing(tenant_id)
    return UserCipher(UserRef(tenant_id, ""), key)
