"""Which master keys are in use, and whether the provider has the right ones.

Each master key wraps a random value once, its proof: so a wrong key is known at the start, before anything was served
or written, without looking at any tenant. A tenant key refers to its master key's row, so that none can be wrapped by a
master key that was removed meanwhile.
"""

from datetime import datetime
from typing import Final

from storage.encryption.data_key import new_secret
from storage.encryption.key_rows import TenantKey, add_tenant_key, tenant_keys_scope
from storage.encryption.places import MASTER_PROOF
from storage.encryption.providers import KeyProvider, Wrapped
from storage.errors import StorageUnavailable
from storage.keys import build_key
from storage.sql.columns import to_micros
from storage.sql.engine import Connection, Database, Scope

_ALL: Final = "SELECT master_key_id, proof FROM master_keys ORDER BY create_time, master_key_id"
_FIND: Final = "SELECT 1 FROM master_keys WHERE master_key_id = ?"
_ADD: Final = """INSERT INTO master_keys (master_key_id, proof, create_time) VALUES (?, ?, ?)
    ON CONFLICT (master_key_id) DO NOTHING"""
NO_TENANT: Final = ""
"""For what belongs to no tenant: the rows of none are seen."""


def master_keys_scope() -> Scope:
    """Writes of what is known of master keys."""
    return Scope(NO_TENANT, build_key("master_keys"))


async def check_master_keys(database: Database, provider: KeyProvider) -> None:
    """Before anything is served: the provider has each master key in use, and it is the right one. Writes nothing.

    Raises `MasterKeyMissing` or `MasterKeyWrong`.
    """
    for known in await known_master_keys(database):
        await provider.unwrap(known, MASTER_PROOF)


async def known_master_keys(database: Database) -> list[Wrapped]:
    """The master keys in use, oldest first, each with its proof."""
    return [Wrapped(*row) for row in await database.rows(NO_TENANT, _ALL, ())]


async def register_current(database: Database, provider: KeyProvider, now: datetime) -> str:
    """Make the provider's current master key known, so that tenant keys may be wrapped by it. Gives its id."""
    current = await provider.current()
    if await database.row(NO_TENANT, _FIND, (current,)) is None:
        proof = await provider.wrap(new_secret(), MASTER_PROOF)
        row = (proof.master_key_id, proof.wrapped, to_micros(now))
        await database.write(master_keys_scope(), lambda connection: _execute(connection, row))
        return proof.master_key_id
    return current


def _execute(connection: Connection, row: tuple[str, bytes, int]) -> None:
    connection.execute(_ADD, row)


async def make_tenant_key(database: Database, tenant_id: str, key: TenantKey, now: datetime) -> None:
    """Make a tenant's key durable; if there is one of its number, that one counts.

    Raises `StorageUnavailable` where the master key that wraps it was removed meanwhile.
    """

    def body(connection: Connection) -> None:
        if connection.execute(_FIND, (key.wrapped.master_key_id,)).fetchone() is None:
            raise StorageUnavailable("the master key changed meanwhile; try again")
        add_tenant_key(connection, tenant_id, key, to_micros(now))

    await database.write(tenant_keys_scope(tenant_id), body)
