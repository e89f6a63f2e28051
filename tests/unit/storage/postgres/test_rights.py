"""Row-level security is the second lock, and the role of the gateways cannot open it."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from storage.conformance.durability import fill
from storage.postgres import PostgresStorage
from storage.sql.schema import metadata
from tests.servers import PostgresDatabase

OF_TENANTS = sorted(table.name for table in metadata.tables.values() if "tenant_id" in table.c)
REFUSED = asyncpg.InsufficientPrivilegeError


@pytest.fixture
async def filled(storage: PostgresStorage, postgres: PostgresDatabase) -> PostgresDatabase:
    """A database with rows of a tenant in every table."""
    await fill(storage)
    postgres.execute("INSERT INTO excerpt_vectors VALUES ('acme', 'ann', 'e', 1, '[1,2]')")
    return postgres


@pytest.fixture
async def gateway(filled: PostgresDatabase) -> AsyncIterator[asyncpg.Connection]:
    """A plain connection in the role of a gateway."""
    connection = await asyncpg.connect(filled.url)
    yield connection
    await connection.close()


async def test_a_query_without_a_tenant_returns_nothing(
    gateway: asyncpg.Connection, filled: PostgresDatabase
) -> None:
    for bound in (None, ""):
        if bound is not None:
            await gateway.execute("SELECT set_config('muniment.tenant', $1, false)", bound)
        for table in OF_TENANTS:
            assert int(filled.execute(f"SELECT count(*) FROM {table}")) > 0, table
            assert await gateway.fetchval(f"SELECT count(*) FROM {table}") == 0, table


async def test_a_tenant_sees_its_own_rows_only(gateway: asyncpg.Connection, filled: PostgresDatabase) -> None:
    for tenant_id in ("acme", "umbrella", "acm", "acme "):
        await gateway.execute("SELECT set_config('muniment.tenant', $1, false)", tenant_id)
        for table in OF_TENANTS:
            count = int(filled.execute(f"SELECT count(*) FROM {table}")) if tenant_id == "acme" else 0
            assert await gateway.fetchval(f"SELECT count(*) FROM {table}") == count, table


async def test_a_tenant_cannot_write_rows_of_another(gateway: asyncpg.Connection) -> None:
    await gateway.execute("SELECT set_config('muniment.tenant', 'acme', false)")
    for statement in (
        "INSERT INTO chain_heads VALUES ('umbrella', 1, '')",
        "INSERT INTO tenants (tenant_id, epoch) VALUES ('umbrella', 1)",
        "UPDATE users SET tenant_id = 'umbrella'",
    ):
        with pytest.raises(REFUSED):
            await gateway.execute(statement)


@pytest.mark.parametrize(
    "statements",
    [
        (
            "ALTER TABLE facts DISABLE ROW LEVEL SECURITY",
            "ALTER TABLE facts NO FORCE ROW LEVEL SECURITY",
            "DROP POLICY tenant ON facts",
            "ALTER POLICY tenant ON facts USING (true)",
            "CREATE POLICY mine ON facts USING (true)",
            "SET ROLE muniment_owner",
            "SET SESSION AUTHORIZATION muniment_owner",
        ),
        (
            "CREATE TABLE mine (a integer)",
            "CREATE TEMPORARY TABLE mine (a integer)",
            "CREATE SCHEMA mine",
            "CREATE FUNCTION mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
            "DROP TABLE facts",
            "TRUNCATE facts",
        ),
        (
            "UPDATE alembic_version SET version_num = '9999'",
            "DELETE FROM alembic_version",
            "SELECT * FROM pg_catalog.pg_authid",
        ),
        ("UPDATE traces SET record = ''", "DELETE FROM traces", "UPDATE policy_revisions SET document = ''"),
        ("SELECT * FROM traces_p0", "SELECT * FROM turns_p0", "DELETE FROM turns_p0"),
    ],
    ids=["switch it off", "make or destroy", "read or change what is not its own", "rewrite", "go by parts"],
)
async def test_the_role_of_the_gateways_cannot(
    gateway: asyncpg.Connection, statements: tuple[str, ...]
) -> None:
    for statement in statements:
        with pytest.raises(REFUSED):
            await gateway.execute(statement)


async def test_switching_row_security_off_is_an_error_and_no_way_around(
    gateway: asyncpg.Connection,
) -> None:
    await gateway.execute("SET row_security = off")
    with pytest.raises(REFUSED):
        await gateway.fetch("SELECT * FROM facts")


async def test_other_schemas_are_out_of_reach(gateway: asyncpg.Connection, filled: PostgresDatabase) -> None:
    filled.execute("CREATE SCHEMA IF NOT EXISTS other")
    filled.execute("CREATE TABLE IF NOT EXISTS other.secrets AS SELECT 'x' AS secret")
    try:
        with pytest.raises(REFUSED):
            await gateway.fetch("SELECT * FROM other.secrets")
    finally:
        filled.execute("DROP SCHEMA other CASCADE")


def test_every_table_of_tenants_is_secured_also_against_its_owner(
    filled: PostgresDatabase,
) -> None:
    secured = filled.execute(
        "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity ORDER BY relname"
    )
    assert secured.splitlines() == OF_TENANTS


async def test_the_owner_sees_keys_to_rotate_and_no_content(filled: PostgresDatabase) -> None:
    owner = await asyncpg.connect(filled.owner_url)
    try:
        assert await owner.fetchval("SELECT count(*) FROM tenant_keys") > 0
        for table in ("facts", "turns", "traces", "excerpts", "receipts"):
            assert await owner.fetchval(f"SELECT count(*) FROM {table}") == 0
    finally:
        await owner.close()


async def test_nothing_is_granted_to_everybody(filled: PostgresDatabase) -> None:
    open_to_all = filled.execute(
        "SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
        "WHERE n.nspname = 'public' AND p.proname LIKE 'muniment%' "
        "AND has_function_privilege('public', p.oid, 'EXECUTE')"
    )
    assert open_to_all == ""
