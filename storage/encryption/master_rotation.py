"""A new master key for all tenants, without touching content: each tenant's key is unwrapped and wrapped anew.

It may stop anywhere and be run again: a tenant key is at any time wrapped by one known master key, and the new master
key is durable where it is held before anything is wrapped by it. Needs to see the keys of all tenants: on Postgres that
is the owner's right, not the application's.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from storage.encryption.errors import MasterKeyInUse
from storage.encryption.key_rows import tenant_keys_scope
from storage.encryption.master_keys import (
    NO_TENANT,
    known_master_keys,
    master_keys_scope,
    register_current,
)
from storage.encryption.places import tenant_key_place
from storage.encryption.providers import KeyProvider, Wrapped
from storage.sql.engine import Connection, Database

_BATCH: Final = 256
_OTHERS: Final = f"""SELECT tenant_id, key_no, master_key_id, wrapped FROM tenant_keys
    WHERE master_key_id <> ? AND (tenant_id, key_no) > (?, ?) ORDER BY tenant_id, key_no LIMIT {_BATCH}"""
# Only where it still is what was read: two rotations at once must not undo each other.
_REWRAP: Final = """UPDATE tenant_keys SET master_key_id = ?, wrapped = ?
    WHERE tenant_id = ? AND key_no = ? AND wrapped = ?"""
_WRAPPED_BY: Final = "SELECT master_key_id, count(*) FROM tenant_keys GROUP BY master_key_id"
_REMOVE: Final = "DELETE FROM master_keys WHERE master_key_id = ?"

Progress = Callable[[], None]


async def rewrap_tenant_keys(
    database: Database, provider: KeyProvider, now: datetime, progress: Progress = lambda: None
) -> int:
    """Wrap every tenant key by the provider's current master key; gives how many were not.

    `progress` is told of each. Raises `MasterKeyMissing` or `MasterKeyWrong` for one that cannot be read.
    """
    done = 0
    # Once more for keys that were made meanwhile, by processes that had not seen the new master key yet.
    while moved := await _pass(database, provider, await register_current(database, provider, now), progress):
        done += moved
    return done


async def _pass(database: Database, provider: KeyProvider, current: str, progress: Progress) -> int:
    after, done = ("", 0), 0
    while rows := await database.rows(NO_TENANT, _OTHERS, (current, *after)):
        for tenant_id, key_no, master_key_id, wrapped in rows:
            await _rewrap(database, provider, tenant_id, key_no, Wrapped(master_key_id, wrapped))
            done += 1
            progress()
        after = (rows[-1][0], rows[-1][1])
    return done


async def _rewrap(
    database: Database, provider: KeyProvider, tenant_id: str, key_no: int, old: Wrapped
) -> None:
    place = tenant_key_place(tenant_id, key_no)
    new = await provider.wrap(await provider.unwrap(old, place), place)
    row = (new.master_key_id, new.wrapped, tenant_id, key_no, old.wrapped)

    def body(connection: Connection) -> None:
        connection.execute(_REWRAP, row)

    await database.write(tenant_keys_scope(tenant_id), body)


async def tenant_keys_by_master_key(database: Database) -> dict[str, int]:
    """How many tenant keys are wrapped by each master key that is known."""
    counts: dict[str, int] = dict(await database.rows(NO_TENANT, _WRAPPED_BY, ()))
    return {
        known.master_key_id: counts.get(known.master_key_id, 0) for known in await known_master_keys(database)
    }


async def forget_unused_master_keys(database: Database, provider: KeyProvider) -> frozenset[str]:
    """Let nothing be wrapped any more by the master keys that are not current; gives their ids.

    Raises `MasterKeyInUse` where one of them still wraps something. Only after this may its holder drop them.
    """
    current = await provider.current()
    counts = await tenant_keys_by_master_key(database)
    counts.pop(current, None)
    for master_key_id, count in counts.items():
        if count:
            raise MasterKeyInUse(master_key_id)
    for master_key_id in counts:
        await _remove(database, master_key_id)
    return frozenset(counts)


async def _remove(database: Database, master_key_id: str) -> None:
    def body(connection: Connection) -> None:
        connection.execute(_REMOVE, (master_key_id,))

    await database.write(master_keys_scope(), body)
