"""What is looked at before a gateway serves from a Postgres: the role, the migration lock, the schema's revision."""

import asyncio
from typing import Final

import asyncpg

from storage.errors import SchemaMismatch, StorageError
from storage.postgres.connections import Connections
from storage.sql.revision import REVISION

MIGRATION_LOCK: Final = 0x6D756E696D656E74
"""The advisory lock that a migrator holds: "muniment" as a number."""
MIGRATION_SECONDS: Final = 60.0
"""How long a start waits for a migration that is under way."""
MONTHS_AHEAD: Final = 3
"""For how many months to come the ledger has parts."""
_CHECK_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.2
_REMEDY: Final = "run `muniment migrate up` as the owner of the database"

_ROLE: Final = """SELECT rolsuper OR rolbypassrls AS powerful, EXISTS (
        SELECT FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
        AND pg_has_role(current_user, c.relowner, 'MEMBER')) AS owner
    FROM pg_roles WHERE rolname = current_user"""
_TABLES: Final = """SELECT to_regclass('public.alembic_version') IS NOT NULL AS there,
    coalesce(has_table_privilege(to_regclass('public.alembic_version'), 'SELECT'), false) AS readable"""


class RoleRefused(StorageError):
    """The role of the URL is not one that a gateway may act in; the text names the remedy."""


async def check_start(connections: Connections) -> None:
    """Raise unless a gateway may serve: `RoleRefused`, `SchemaMismatch`, `StorageUnavailable`."""
    await connections.use(_CHECK_SECONDS, _check_role)
    await _wait_for_migration(connections)
    await check_revision(connections)


async def check_revision(connections: Connections) -> None:
    """Raise `SchemaMismatch` unless the schema is the one of this release, or `RoleRefused`."""
    await connections.use(_CHECK_SECONDS, _check_revision)


async def check_owner(connections: Connections) -> None:
    """Raise `RoleRefused` unless the role sees what belongs to all tenants, as the owner's does."""
    powerful, owner = await connections.use(_CHECK_SECONDS, lambda driver: driver.fetchrow(_ROLE))
    if not (powerful or owner):
        raise RoleRefused(
            "this needs the rows of all tenants: give the database URL of the owner, which migrates, not the gateways'"
        )


async def make_partitions(connections: Connections) -> None:
    """See to it that the ledger has parts for the coming months."""
    await connections.use(
        _CHECK_SECONDS, lambda driver: driver.fetchval("SELECT muniment_make_partitions($1)", MONTHS_AHEAD)
    )


async def _check_role(driver: asyncpg.Connection) -> None:
    powerful, owner = await driver.fetchrow(_ROLE)
    if powerful:
        raise RoleRefused(
            "the database URL's role passes by row-level security (SUPERUSER or BYPASSRLS): "
            "use a role that is only a member of the gateways' role"
        )
    if owner:
        raise RoleRefused(
            "the database URL's role owns tables: migrate with it, and serve with a role that is only a member of "
            "the gateways' role"
        )


async def _wait_for_migration(connections: Connections) -> None:
    try:
        async with asyncio.timeout(MIGRATION_SECONDS):
            while True:
                if await connections.use(_CHECK_SECONDS, _migration_is_over):
                    return
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise SchemaMismatch(
            f"a migration has been under way for {MIGRATION_SECONDS:.0f} seconds; start again once it is done"
        ) from None


async def _migration_is_over(driver: asyncpg.Connection) -> bool:
    # Shared, and let go of at once: gateways that start together do not hold each other up.
    return bool(await driver.fetchval("SELECT pg_try_advisory_xact_lock_shared($1)", MIGRATION_LOCK))


async def _check_revision(driver: asyncpg.Connection) -> None:
    there, readable = await driver.fetchrow(_TABLES)
    if not there:
        raise SchemaMismatch(f"the database has no schema: {_REMEDY}")
    if not readable:
        raise RoleRefused(
            "the database URL's role may not use the schema: make it a member of the gateways' role"
        )
    found = str(await driver.fetchval("SELECT version_num FROM alembic_version"))
    if found < REVISION:
        raise SchemaMismatch(f"the database is of schema {found}, this release needs {REVISION}: {_REMEDY}")
    if found > REVISION:
        raise SchemaMismatch(
            f"the database is of schema {found}, this release knows {REVISION}; use a newer release"
        )
