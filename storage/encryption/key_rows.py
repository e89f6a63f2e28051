"""Wrapped keys as rows: the keys of tenants, wrapped by master keys, and those of users, wrapped by their tenants'.

A version of a user's key is pending (no `activate_time`: it opens, and nobody seals under it yet), active (the active
one with the highest number seals), or retired (`retire_time`: nothing that SQL keeps lies under it any more).
"""

from dataclasses import dataclass
from typing import Final

from assemblers.records import UserRef
from storage.encryption.providers import Wrapped
from storage.keys import build_key
from storage.sql.engine import Connection, Database, Scope, user_scope

FIRST_KEY_NO: Final = 1

_TENANT_KEYS: Final = """SELECT key_no, master_key_id, wrapped FROM tenant_keys WHERE tenant_id = ?
    ORDER BY key_no"""
_ADD_TENANT_KEY: Final = """INSERT INTO tenant_keys (tenant_id, key_no, master_key_id, wrapped, create_time)
    VALUES (?, ?, ?, ?, ?) ON CONFLICT (tenant_id, key_no) DO NOTHING"""
_USER_KEYS: Final = """SELECT key_no, tenant_key_no, wrapped, activate_time, retire_time FROM user_keys
    WHERE tenant_id = ? AND user_id = ? ORDER BY key_no"""
_ADD_USER_KEY: Final = """INSERT INTO user_keys
    (tenant_id, user_id, key_no, tenant_key_no, wrapped, create_time, activate_time)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, user_id, key_no) DO NOTHING"""


@dataclass(frozen=True, slots=True)
class TenantKey:
    """A version of a tenant's key. The highest number seals."""

    key_no: int
    wrapped: Wrapped


@dataclass(frozen=True, slots=True)
class UserKey:
    """A version of a user's key, sealed under its tenant's key of that number. Times are microseconds since 1970."""

    key_no: int
    tenant_key_no: int
    wrapped: bytes
    activate_time: int | None
    retire_time: int | None = None


def tenant_keys_scope(tenant_id: str) -> Scope:
    """Writes of a tenant's own keys."""
    return Scope(tenant_id, build_key("tenant_keys", tenant_id))


async def read_tenant_keys(database: Database, tenant_id: str) -> list[TenantKey]:
    """The versions of a tenant's key; none for a tenant that has no key yet."""
    rows = await database.rows(tenant_id, _TENANT_KEYS, (tenant_id,))
    return [TenantKey(key_no, Wrapped(master_key_id, wrapped)) for key_no, master_key_id, wrapped in rows]


def add_tenant_key(connection: Connection, tenant_id: str, key: TenantKey, now: int) -> None:
    """Store a version unless its number is taken: then what is there counts."""
    wrapped = key.wrapped
    row = (tenant_id, key.key_no, wrapped.master_key_id, wrapped.wrapped, now)
    connection.execute(_ADD_TENANT_KEY, row)


async def read_user_keys(database: Database, user: UserRef) -> list[UserKey]:
    """The versions of a user's key; none for a user that has no key yet."""
    rows = await database.rows(user.tenant_id, _USER_KEYS, (user.tenant_id, user.user_id))
    return [UserKey(*row) for row in rows]


async def add_user_key(database: Database, user: UserRef, key: UserKey, now: int) -> None:
    """Make a version durable, unless its number is taken: then what is there counts."""
    owner = (user.tenant_id, user.user_id)
    row = (*owner, key.key_no, key.tenant_key_no, key.wrapped, now, key.activate_time)
    await database.write(user_scope(user), lambda connection: _execute(connection, row))


def _execute(connection: Connection, row: tuple[str | int | bytes | None, ...]) -> None:
    connection.execute(_ADD_USER_KEY, row)
