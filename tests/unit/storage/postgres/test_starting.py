"""A gateway serves from the schema of its release only, in a role that row-level security binds."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from storage.errors import SchemaMismatch, StorageUnavailable
from storage.postgres import PostgresStorage, starting
from storage.postgres.migrating import MigrationRefused, upgrade
from storage.postgres.starting import MIGRATION_LOCK, MONTHS_AHEAD, RoleRefused
from storage.sql.engine import Connection, Scope
from tests.servers import PostgresDatabase

Opener = Callable[[str], Awaitable[PostgresStorage]]


async def test_a_database_without_a_schema_is_refused_with_the_remedy(
    bare_postgres: PostgresDatabase, opener: Opener
) -> None:
    with pytest.raises(SchemaMismatch, match="muniment migrate up"):
        await opener(bare_postgres.url)


@pytest.mark.parametrize(
    ("revision", "remedy"), [("0000", "muniment migrate up"), ("9999", "use a newer release")]
)
async def test_an_older_or_newer_schema_is_refused_with_the_remedy(
    bare_postgres: PostgresDatabase, opener: Opener, revision: str, remedy: str
) -> None:
    await asyncio.to_thread(upgrade, bare_postgres.owner_url)
    bare_postgres.execute(f"UPDATE alembic_version SET version_num = '{revision}'")
    with pytest.raises(SchemaMismatch, match=remedy):
        await opener(bare_postgres.url)


async def test_the_owner_and_the_superuser_are_refused(postgres: PostgresDatabase, opener: Opener) -> None:
    for url, reason in ((postgres.owner_url, "owns tables"), (postgres.superuser_url, "SUPERUSER")):
        with pytest.raises(RoleRefused, match=reason):
            await opener(url)


async def test_a_role_without_rights_is_refused(postgres: PostgresDatabase, opener: Opener) -> None:
    postgres.execute("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN")
    try:
        with pytest.raises(RoleRefused, match="member"):
            await opener(postgres.admin.url_of(postgres.name, "stranger"))
        postgres.execute("ALTER ROLE stranger BYPASSRLS")
        with pytest.raises(RoleRefused, match="BYPASSRLS"):
            await opener(postgres.admin.url_of(postgres.name, "stranger"))
    finally:
        postgres.execute("DROP ROLE stranger")


async def test_a_start_waits_for_a_migration_that_is_under_way(
    postgres: PostgresDatabase, opener: Opener
) -> None:
    migrator = await asyncpg.connect(postgres.owner_url)
    transaction = migrator.transaction()
    await transaction.start()
    await migrator.execute("SELECT pg_advisory_xact_lock($1)", MIGRATION_LOCK)
    start = asyncio.ensure_future(opener(postgres.url))
    await asyncio.sleep(0.5)
    assert not start.done()
    await transaction.commit()
    assert await (await start).ready()
    await migrator.close()


async def test_a_gateway_started_before_its_schema_is_there_waits_for_the_first_migration(
    bare_postgres: PostgresDatabase, opener: Opener
) -> None:
    migration = asyncio.ensure_future(asyncio.to_thread(upgrade, bare_postgres.owner_url))
    while True:
        held = await asyncio.to_thread(
            bare_postgres.execute, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        )
        if held != "0" or migration.done():
            break
    assert await (await opener(bare_postgres.url)).ready()
    await migration


async def test_a_wrong_password_or_database_is_told_without_naming_it(
    postgres: PostgresDatabase, opener: Opener
) -> None:
    with pytest.raises(StorageUnavailable) as caught:
        await opener(postgres.admin.url_of("no_such_database", "muniment_gateway", "secret"))
    assert "no_such_database" not in str(caught.value)
    assert "check" in str(caught.value)


async def test_no_statement_and_no_value_is_in_an_error_or_a_log(
    storage: PostgresStorage, caplog: pytest.LogCaptureFixture
) -> None:
    def body(connection: Connection) -> None:
        connection.execute("SELECT canary_column FROM canary_table WHERE a = ?", ("canary-value",))

    with caplog.at_level(logging.DEBUG), pytest.raises(StorageUnavailable) as caught:
        await storage.database.write(Scope("acme", None), body)
    assert "canary" not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "canary" not in caplog.text


async def test_a_server_without_pgvector_in_the_database_is_a_database_without_a_schema(
    bare_postgres: PostgresDatabase, opener: Opener
) -> None:
    bare_postgres.execute("DROP EXTENSION vector")
    with pytest.raises(SchemaMismatch, match="no schema"):
        await opener(bare_postgres.url)


async def test_pgvector_in_another_schema_is_told_by_name(bare_postgres: PostgresDatabase) -> None:
    bare_postgres.execute("CREATE SCHEMA elsewhere; ALTER EXTENSION vector SET SCHEMA elsewhere")
    with pytest.raises(MigrationRefused, match="public"):
        await asyncio.to_thread(upgrade, bare_postgres.owner_url)


async def test_a_gateway_makes_the_parts_that_are_missing(postgres: PostgresDatabase, opener: Opener) -> None:
    postgres.execute(
        "DO $$ DECLARE name text; BEGIN FOR name IN SELECT inhrelid::regclass FROM pg_inherits "
        "WHERE inhparent = 'traces_p1'::regclass AND inhrelid::regclass::text NOT LIKE '%default' "
        "LOOP EXECUTE 'DROP TABLE ' || name; END LOOP; END $$"
    )
    count = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'traces_p1'::regclass"
    assert postgres.execute(count) == "1"
    await opener(postgres.url)
    async with asyncio.timeout(10):
        while True:
            if await asyncio.to_thread(postgres.execute, count) == str(1 + 1 + MONTHS_AHEAD):
                break


async def test_a_migration_that_does_not_end_ends_the_wait(
    postgres: PostgresDatabase, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "MIGRATION_SECONDS", 0.3)
    migrator = await asyncpg.connect(postgres.owner_url)
    await migrator.execute("SELECT pg_advisory_lock($1)", MIGRATION_LOCK)
    with pytest.raises(SchemaMismatch, match="under way"):
        await opener(postgres.url)
    await migrator.close()
