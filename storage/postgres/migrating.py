"""Migrating a Postgres, one migrator at a time."""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from storage.errors import StorageError
from storage.postgres.address import Address, parse_address
from storage.postgres.failures import DRIVER_ERRORS, NOT_LET_IN, sqlstate_of, translate
from storage.postgres.starting import MIGRATION_LOCK, MONTHS_AHEAD
from storage.sql.migrate import revision_on, statements, upgrade_on
from storage.sql.roles import APP_ROLE, check_role

T = TypeVar("T")

_CONNECT_SECONDS: Final = 10
_MISSING_EXTENSION: Final = ("0A000", "58P01")


class MigrationRefused(StorageError):
    """The database does not let the migration through; the text names the remedy."""


def upgrade(url: str, app_role: str = APP_ROLE) -> str | None:
    """Bring a database to this release's schema, waiting for a migration that is under way. Returns the revision that
    was found, None for an empty database.

    All of it in one transaction. Raises `SchemaMismatch`, `MigrationRefused`, `StorageUnavailable`, `AddressError`.
    """

    check_role(app_role)

    def work(connection: sa.Connection) -> str | None:
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock($1)", (MIGRATION_LOCK,))
        found = upgrade_on(connection, app_role)
        connection.exec_driver_sql("SELECT muniment_make_partitions($1)", (MONTHS_AHEAD,))
        connection.commit()
        return found

    return _connected(url, work)


def status(url: str) -> str | None:
    """The revision of a database's schema, None where there is none. Raises as `upgrade` does."""
    return _connected(url, revision_on)


def sql(url: str, app_role: str = APP_ROLE) -> str:
    """What `upgrade` would do, as SQL; "" for nothing. Only the revision is read. Raises as `upgrade` does."""
    written = statements("postgresql", status(url), app_role)
    return f"{written}\nSELECT muniment_make_partitions({MONTHS_AHEAD});\n" if written else ""


def _connected(url: str, work: Callable[[sa.Connection], T]) -> T:
    """Run something on a connection of its own; what it does not commit is undone."""
    return asyncio.run(_run(parse_address(url), work))


async def _run(address: Address, work: Callable[[sa.Connection], T]) -> T:
    # The owner's connection is in the schema that the gateways look in, whatever its role is set to.
    arguments = {
        "ssl": address.tls or False,
        "timeout": _CONNECT_SECONDS,
        "server_settings": {"search_path": "public", "application_name": "muniment migrate"},
    }
    engine = create_async_engine(address.url, poolclass=sa.NullPool, connect_args=arguments)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(work)
    except DRIVER_ERRORS as error:
        raise _refusal(error) from None
    finally:
        await engine.dispose()


def _refusal(error: Exception) -> StorageError:
    state = sqlstate_of(error)
    if state == "42501":
        return MigrationRefused(
            "this role may not do what a step needs: migrate as the database's owner, and have a superuser run "
            "CREATE EXTENSION vector, and CREATE ROLE for the gateways' role, before"
        )
    if state in _MISSING_EXTENSION:
        return MigrationRefused("the server has no pgvector: install it there, then migrate again")
    if state == "42704":
        return MigrationRefused("the extension vector lies in another schema: it has to be in public")
    if state is None or state[:2] in NOT_LET_IN:
        return translate(error)
    return MigrationRefused(f"the server refused a step (SQLSTATE {state}); nothing was changed")
