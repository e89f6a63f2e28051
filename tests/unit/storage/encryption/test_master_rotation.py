"""A new master key wraps all tenants' keys, touches no content, and may stop anywhere."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from assemblers.records import UserRef
from storage.encryption import FileKeyProvider, KeyRing, MasterKeyInUse, MasterKeyMissing, Wrapped
from storage.encryption.key_cache import FRESH_SECONDS
from storage.encryption.key_file import add_master_key, read_key_file, remove_master_keys
from storage.encryption.key_rows import TenantKey, add_tenant_key
from storage.encryption.master_keys import make_tenant_key
from storage.encryption.master_rotation import (
    forget_unused_master_keys,
    rewrap_tenant_keys,
    tenant_keys_by_master_key,
)
from storage.errors import StorageUnavailable
from tests.unit.storage.encryption.conftest import Clock
from tests.unit.storage.encryption.plain_database import PlainDatabase

PLACE = b"place"
USERS = [UserRef(f"t{number:03}", "ada") for number in range(300)]


async def sealed_by(ring: KeyRing, users: list[UserRef]) -> list[bytes]:
    return [(await ring.for_writing(user)).seal(PLACE, user.tenant_id.encode()) for user in users]


async def opened_by(ring: KeyRing, users: list[UserRef], sealed: list[bytes]) -> bool:
    keys = [await ring.for_writing(user) for user in users]
    return all(
        key.open(PLACE, each) == user.tenant_id.encode()
        for key, user, each in zip(keys, users, sealed, strict=True)
    )


class StopsAfter:
    """A provider that goes away after so many wraps, as a process does that is killed."""

    def __init__(self, provider: FileKeyProvider, wraps: int) -> None:
        self._provider, self._left = provider, wraps
        self.current: Callable[[], object] = provider.current

    async def wrap(self, key: bytes, place: bytes) -> Wrapped:
        if not self._left:
            raise StorageUnavailable("killed")
        self._left -= 1
        return await self._provider.wrap(key, place)

    async def unwrap(self, wrapped: Wrapped, place: bytes) -> bytes:
        return await self._provider.unwrap(wrapped, place)


def fresh_ring(database: PlainDatabase, key_file: Path, clock: Clock) -> KeyRing:
    return KeyRing(database, FileKeyProvider(key_file), clock.monotonic, clock.now)


async def test_all_tenants_are_wrapped_anew_and_content_is_not_touched(
    ring: KeyRing, database: PlainDatabase, key_file: Path, provider: FileKeyProvider, clock: Clock
):
    sealed = await sealed_by(ring, USERS)
    users_before = database.execute("SELECT * FROM user_keys ORDER BY tenant_id")
    new = add_master_key(key_file)
    told: list[None] = []
    done = await rewrap_tenant_keys(database, provider, clock.now(), lambda: told.append(None))
    assert done == len(told) == len(USERS)
    assert (await tenant_keys_by_master_key(database))[new.key_id] == len(USERS)
    assert database.execute("SELECT * FROM user_keys ORDER BY tenant_id") == users_before
    remove_master_keys(key_file, await forget_unused_master_keys(database, provider))
    assert await opened_by(fresh_ring(database, key_file, clock), USERS, sealed)


async def test_wrapping_again_finds_nothing_to_do(
    ring: KeyRing, database: PlainDatabase, provider: FileKeyProvider, clock: Clock
):
    await sealed_by(ring, USERS[:3])
    assert await rewrap_tenant_keys(database, provider, clock.now()) == 0


@pytest.mark.parametrize("wraps", [0, 1, 2, 4])
async def test_a_rotation_that_was_cut_off_leaves_all_readable_and_is_finished_by_the_next(
    ring: KeyRing,
    database: PlainDatabase,
    key_file: Path,
    clock: Clock,
    provider: FileKeyProvider,
    wraps: int,
):
    users = USERS[:5]
    sealed = await sealed_by(ring, users)
    add_master_key(key_file)
    with pytest.raises(StorageUnavailable):
        await rewrap_tenant_keys(database, StopsAfter(provider, wraps), clock.now())  # type: ignore[arg-type]  # `current` is the provider's
    reader = fresh_ring(database, key_file, clock)
    await reader.check()
    assert await opened_by(reader, users, sealed)
    await rewrap_tenant_keys(database, provider, clock.now())
    await forget_unused_master_keys(database, provider)
    assert await opened_by(fresh_ring(database, key_file, clock), users, sealed)


async def test_an_old_master_key_stays_while_something_is_wrapped_by_it(
    ring: KeyRing, database: PlainDatabase, key_file: Path, clock: Clock, provider: FileKeyProvider
):
    await sealed_by(ring, USERS[:2])
    (old,) = read_key_file(key_file)
    add_master_key(key_file)
    with pytest.raises(MasterKeyInUse, match=old.key_id):
        await forget_unused_master_keys(database, provider)
    await fresh_ring(database, key_file, clock).check()


async def test_nothing_can_be_wrapped_by_a_master_key_that_was_removed_meanwhile(
    ring: KeyRing, database: PlainDatabase, key_file: Path, clock: Clock, provider: FileKeyProvider
):
    await sealed_by(ring, USERS[:1])
    late = TenantKey(1, await provider.wrap(bytes(32), PLACE))
    add_master_key(key_file)
    await rewrap_tenant_keys(database, provider, clock.now())
    await forget_unused_master_keys(database, provider)
    with pytest.raises(StorageUnavailable, match="try again"):
        await make_tenant_key(database, "t", late, clock.now())
    with pytest.raises(sqlite3.IntegrityError):
        add_tenant_key(database.connection, "t", late, 0)


async def test_tenants_that_come_during_a_rotation_are_not_lost(
    ring: KeyRing, database: PlainDatabase, key_file: Path, clock: Clock, provider: FileKeyProvider
):
    sealed = await sealed_by(ring, USERS[:40])
    add_master_key(key_file)

    async def newcomers() -> list[bytes]:
        return [(await ring.for_writing(user)).seal(PLACE, user.tenant_id.encode()) for user in USERS[40:80]]

    _, more = await asyncio.gather(rewrap_tenant_keys(database, provider, clock.now()), newcomers())
    await rewrap_tenant_keys(database, provider, clock.now())
    remove_master_keys(key_file, await forget_unused_master_keys(database, provider))
    assert await opened_by(fresh_ring(database, key_file, clock), USERS[:80], sealed + more)


async def test_running_processes_go_on_through_a_rotation(
    ring: KeyRing, database: PlainDatabase, key_file: Path, clock: Clock, provider: FileKeyProvider
):
    users = USERS[:3]
    sealed = await sealed_by(ring, users)
    other = FileKeyProvider(key_file)
    add_master_key(key_file)
    await rewrap_tenant_keys(database, other, clock.now())
    remove_master_keys(key_file, await forget_unused_master_keys(database, other))
    clock.seconds += FRESH_SECONDS
    assert await opened_by(ring, users, sealed)


async def test_a_tenant_key_that_cannot_be_read_stops_the_rotation_by_name(
    ring: KeyRing, database: PlainDatabase, key_file: Path, clock: Clock, tmp_path: Path
):
    await sealed_by(ring, USERS[:1])
    (old,) = read_key_file(key_file)
    add_master_key(key_file)
    remove_master_keys(key_file, frozenset({old.key_id}))
    with pytest.raises(MasterKeyMissing, match=old.key_id):
        await rewrap_tenant_keys(database, FileKeyProvider(key_file), clock.now())
