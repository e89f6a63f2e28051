"""The hierarchy of keys: master key, tenant keys, users' data keys; unwrapped on demand, made on first use.

A key is made durable in a step of its own, before anything is sealed under it: a transaction that came to nothing must
not take along a key that is in somebody's memory. Two processes that make one at the same time end up with the one that
was stored first.
"""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from assemblers.records import UserRef
from storage.encryption.data_key import DataKey, new_secret
from storage.encryption.key_cache import KeyCache
from storage.encryption.key_rows import (
    FIRST_KEY_NO,
    TenantKey,
    UserKey,
    add_user_key,
    read_tenant_keys,
    read_user_keys,
)
from storage.encryption.master_keys import check_master_keys, make_tenant_key, register_current
from storage.encryption.places import tenant_key_place, user_key_place
from storage.encryption.providers import KeyProvider
from storage.errors import StorageUnavailable
from storage.sql.columns import to_micros
from storage.sql.engine import Database

MAX_USERS: Final = 16_384
MAX_TENANTS: Final = 1_024
"""Keys of so many are held unwrapped, a kilobyte each."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class KeyRing:
    """The keys of a database's tenants and users. Belongs to one event loop."""

    def __init__(
        self,
        database: Database,
        provider: KeyProvider,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        """`now` dates new keys; `monotonic` (seconds) says when what is held must be looked up again."""
        self._database, self._provider, self._now = database, provider, now
        self._users: KeyCache[UserRef] = KeyCache(self._load_user, monotonic, MAX_USERS)
        self._tenants: KeyCache[str] = KeyCache(self._load_tenant, monotonic, MAX_TENANTS)

    async def check(self) -> None:
        """Before anything is served: the master keys are the right ones.

        Raises `MasterKeyMissing` or `MasterKeyWrong`.
        """
        await check_master_keys(self._database, self._provider)

    def peek(self, user: UserRef) -> DataKey | None:
        """The user's key if it is in memory, for sealing and opening. Costs no waiting."""
        return self._users.peek(user)

    async def for_writing(self, user: UserRef) -> DataKey:
        """The user's key; it is made, durably, where there is none."""
        key = self._users.peek(user) or await self._users.get(user)
        if key is None:
            await self._make_user_key(user)
            key = await self._users.get(user)
        return _made(key)

    async def for_reading(self, user: UserRef) -> DataKey | None:
        """The user's key, or None where nothing was ever sealed for the user. Makes nothing."""
        return self._users.peek(user) or await self._users.get(user)

    def peek_tenant(self, tenant_id: str) -> DataKey | None:
        """The tenant's key if it is in memory."""
        return self._tenants.peek(tenant_id)

    async def tenant_for_writing(self, tenant_id: str) -> DataKey:
        """The tenant's key, for what is no user's; it is made, durably, where there is none."""
        key = await self._tenants.get(tenant_id)
        if key is None:
            await self._make_tenant_key(tenant_id)
            key = await self._tenants.get(tenant_id)
        return _made(key)

    async def tenant_for_reading(self, tenant_id: str) -> DataKey | None:
        """The tenant's key, or None where it has none. Makes nothing."""
        return await self._tenants.get(tenant_id)

    def forget(self, user: UserRef) -> None:
        """The user's key changed: look it up anew."""
        self._users.forget(user)

    async def _load_tenant(self, tenant_id: str) -> DataKey | None:
        secrets: dict[int, bytes] = {}
        for key in await read_tenant_keys(self._database, tenant_id):
            place = tenant_key_place(tenant_id, key.key_no)
            secrets[key.key_no] = await self._provider.unwrap(key.wrapped, place)
        return DataKey(secrets, max(secrets)) if secrets else None

    async def _load_user(self, user: UserRef) -> DataKey | None:
        keys = await read_user_keys(self._database, user)
        if not keys:
            return None
        tenant = _made(await self._tenants.get(user.tenant_id))
        return unwrapped(user, keys, tenant)

    async def _make_tenant_key(self, tenant_id: str) -> None:
        now = self._now()
        await register_current(self._database, self._provider, now)
        wrapped = await self._provider.wrap(new_secret(), tenant_key_place(tenant_id, FIRST_KEY_NO))
        await make_tenant_key(self._database, tenant_id, TenantKey(FIRST_KEY_NO, wrapped), now)

    async def _make_user_key(self, user: UserRef) -> None:
        tenant = await self.tenant_for_writing(user.tenant_id)
        now = to_micros(self._now())
        await add_user_key(self._database, user, new_user_key(user, FIRST_KEY_NO, tenant, now), now)


def new_user_key(user: UserRef, key_no: int, tenant: DataKey, activate_time: int | None) -> UserKey:
    """A fresh version of a user's key, wrapped by the tenant's."""
    wrapped = tenant.seal(user_key_place(user, key_no), new_secret())
    return UserKey(key_no, tenant.key_no, wrapped, activate_time)


def unwrapped(user: UserRef, keys: Sequence[UserKey], tenant: DataKey) -> DataKey:
    """The data key of a user's stored versions; the active one with the highest number seals."""
    secrets = {key.key_no: tenant.open(user_key_place(user, key.key_no), key.wrapped) for key in keys}
    key_no = max(key.key_no for key in keys if key.activate_time is not None)
    # The tenant's fingerprints: they outlive the versions of a user's key.
    return DataKey(secrets, key_no, tenant.fingerprints)


def _made(key: DataKey | None) -> DataKey:
    if key is None:
        raise StorageUnavailable("the key was removed meanwhile; try again")
    return key
