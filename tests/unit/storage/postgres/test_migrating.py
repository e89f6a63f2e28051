"""Migrations on Postgres: they lead to the metadata, one at a time, and can be looked at before."""

import asyncio
from collections.abc import Callable

import asyncpg
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.ext.asyncio import create_async_engine

from scripts.servers.errors import ServerError
from storage.errors import SchemaMismatch, StorageUnavailable
from storage.postgres.address import parse_address
from storage.postgres.migrating import MigrationRefused, sql, status, upgrade
from storage.sql.migrate import migration_config
from storage.sql.revision import REVISION
from storage.sql.schema import metadata
from storage.sql.tables.base import Vector, belongs_to
from tests.servers import PostgresDatabase

OBJECTS = """SELECT relname, relkind, relpartbound IS NOT NULL FROM pg_class
    WHERE relnamespace = 'public'::regnamespace ORDER BY 1"""


async def on_connection(url: str, work: Callable[[sa.Connection], object]) -> object:
    engine = create_async_engine(parse_address(url).url, poolclass=sa.NullPool)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(work)
    finally:
        await engine.dispose()


def differences(connection: sa.Connection) -> object:
    own = belongs_to("postgresql")

    def included(
        item: sa.schema.SchemaItem, name: str, kind: str, reflected: bool, counterpart: object
    ) -> bool:
        part = kind == "table" and reflected and counterpart is None and "_p" in name
        return own(item) and not part

    ischema_names["vector"] = Vector
    context = MigrationContext.configure(connection, opts={"include_object": included, "compare_type": True})
    return compare_metadata(context, metadata)


async def test_the_migrations_lead_to_the_metadata(postgres: PostgresDatabase) -> None:
    assert await on_connection(postgres.owner_url, differences) == []


async def test_the_comparison_would_see_a_difference(bare_postgres: PostgresDatabase) -> None:
    await asyncio.to_thread(upgrade, bare_postgres.owner_url)
    bare_postgres.execute("ALTER TABLE facts DROP COLUMN salt; DROP INDEX ix_facts_state")
    found = await on_connection(bare_postgres.owner_url, differences)
    assert isinstance(found, list)
    assert len(found) == 2


def test_ids_compare_by_bytes_and_conditions_of_indexes_are_those_of_the_metadata(
    postgres: PostgresDatabase,
) -> None:
    """What the comparison does not look at."""
    folded = postgres.execute(
        "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 "
        "AND a.atttypid = 'varchar'::regtype AND a.attcollation <> '\"C\"'::regcollation "
        "AND c.relname <> 'alembic_version'"
    )
    assert folded == ""
    conditions = postgres.execute(
        "SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "WHERE i.indpred IS NOT NULL AND c.relnamespace = 'public'::regnamespace AND NOT c.relispartition"
    )
    partial = [
        index
        for table in metadata.tables.values()
        for index in table.indexes
        if index.dialect_options["postgresql"]["where"] is not None
    ]
    assert int(conditions) == len(partial) > 3


@pytest.mark.parametrize(
    ("table", "parts"),
    [("excerpts", 8), ("postings", 8), ("excerpt_vectors", 8), ("turns", 8), ("traces", 4)],
)
def test_tables_that_grow_are_partitioned_by_tenant(
    postgres: PostgresDatabase, table: str, parts: int
) -> None:
    found = postgres.execute(
        f"SELECT p.partstrat, count(*) FROM pg_partitioned_table p JOIN pg_inherits i ON i.inhparent = p.partrelid "
        f"WHERE p.partrelid = '{table}'::regclass GROUP BY 1"
    )
    assert found == f"h|{parts}"


def test_the_ledger_has_parts_for_this_month_and_those_to_come(postgres: PostgresDatabase) -> None:
    def months() -> int:
        return int(
            postgres.execute(
                "SELECT count(*) FROM pg_inherits WHERE inhparent IN ('traces_p0'::regclass, 'traces_p3'::regclass)"
            )
        )

    assert months() == 2 * (1 + 1 + 3)
    assert postgres.execute("SELECT muniment_make_partitions(3)") == "0"
    assert postgres.execute("SELECT muniment_make_partitions(5)") == "8"
    assert months() == 2 * (1 + 1 + 5)


def test_rows_find_their_month_and_old_ones_the_default_part(postgres: PostgresDatabase) -> None:
    def add(time: str, sequence: int) -> str:
        return postgres.execute(
            "INSERT INTO traces (tenant_id, sequence, trace_id, user_id, session_id, turn_id, policy, create_time, "
            f"previous_hash, record_hash, record) VALUES ('acme', {sequence}, 'x{sequence}', '', '', '', '', {time}, "
            "'', '', '') RETURNING tableoid::regclass"
        )

    month = postgres.execute("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYYMM')")
    assert add("(extract(epoch FROM now()) * 1000000)::bigint", 1).endswith(f"_{month}")
    assert add("1000000", 2).endswith("_default")


def test_a_month_of_which_rows_came_too_early_stays_where_it_is(bare_postgres: PostgresDatabase) -> None:
    upgrade(bare_postgres.owner_url)
    bare_postgres.execute(
        "INSERT INTO traces (tenant_id, sequence, trace_id, user_id, session_id, turn_id, policy, create_time, "
        "previous_hash, record_hash, record) VALUES ('acme', 1, 'x', '', '', '', '', "
        "(extract(epoch FROM now() + interval '5 months') * 1000000)::bigint, '', '', '')"
    )
    assert bare_postgres.execute("SELECT muniment_make_partitions(6)") == str(3 * 4 - 1)
    assert bare_postgres.execute("SELECT count(*) FROM traces") == "1"


def test_an_upgrade_says_what_it_found_and_the_next_one_finds_it_done(
    bare_postgres: PostgresDatabase,
) -> None:
    url = bare_postgres.owner_url
    assert status(url) is None
    assert upgrade(url) is None
    assert status(url) == REVISION
    assert upgrade(url) == REVISION
    assert sql(url) == ""


def test_migrators_that_come_together_queue(bare_postgres: PostgresDatabase) -> None:
    async def together() -> list[str | None]:
        return await asyncio.gather(*(asyncio.to_thread(upgrade, bare_postgres.owner_url) for _ in range(4)))

    assert sorted(map(str, asyncio.run(together()))) == [REVISION] * 3 + ["None"]


def test_the_printed_statements_do_what_an_upgrade_does_and_printing_does_nothing(
    bare_postgres: PostgresDatabase, postgres: PostgresDatabase
) -> None:
    before = bare_postgres.execute(OBJECTS)
    statements = sql(bare_postgres.owner_url)
    assert bare_postgres.execute(OBJECTS) == before
    assert status(bare_postgres.owner_url) is None
    bare_postgres.execute(f"SET ROLE muniment_owner; {statements}")
    assert status(bare_postgres.owner_url) == REVISION
    upgraded = set(postgres.execute(OBJECTS).splitlines())
    assert set(bare_postgres.execute(OBJECTS).splitlines()) <= upgraded


def test_a_migration_that_fails_leaves_nothing(bare_postgres: PostgresDatabase) -> None:
    bare_postgres.execute("CREATE TABLE users (a integer)")
    before = bare_postgres.execute(OBJECTS)
    with pytest.raises(MigrationRefused) as caught:
        upgrade(bare_postgres.owner_url)
    assert "42P07" in str(caught.value)
    assert bare_postgres.execute(OBJECTS) == before


def test_a_newer_schema_is_left_alone(bare_postgres: PostgresDatabase) -> None:
    upgrade(bare_postgres.owner_url)
    bare_postgres.execute("UPDATE alembic_version SET version_num = '9999'")
    for step in (upgrade, status, sql):
        with pytest.raises(SchemaMismatch):
            step(bare_postgres.owner_url)


def test_the_gateways_role_may_not_migrate(bare_postgres: PostgresDatabase) -> None:
    with pytest.raises(MigrationRefused) as caught:
        upgrade(bare_postgres.url)
    assert "owner" in str(caught.value)


def test_another_role_for_the_gateways_can_be_named(bare_postgres: PostgresDatabase) -> None:
    bare_postgres.execute("DROP ROLE IF EXISTS other_gateways")
    upgrade(bare_postgres.superuser_url, "other_gateways")
    try:
        granted = bare_postgres.execute("SELECT has_table_privilege('other_gateways', 'facts', 'SELECT')")
        assert granted == "t"
        assert bare_postgres.execute("SELECT has_table_privilege('muniment_app', 'facts', 'SELECT')") == "f"
    finally:
        bare_postgres.execute("DROP OWNED BY other_gateways; DROP ROLE other_gateways")


@pytest.mark.parametrize("name", ["", "Upper", "a b", 'a"b', "a;b", "1a", "a" * 64])
def test_a_role_whose_name_needs_quotes_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="small letters"):
        upgrade("postgresql://u@127.0.0.1:1/d", name)


async def test_migrations_can_be_taken_back(bare_postgres: PostgresDatabase) -> None:
    await asyncio.to_thread(upgrade, bare_postgres.owner_url)

    def back(connection: sa.Connection) -> None:
        config = migration_config()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        connection.commit()

    await on_connection(bare_postgres.owner_url, back)
    assert (
        bare_postgres.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
        )
        == "alembic_version"
    )
    with pytest.raises(ServerError):
        bare_postgres.execute("SELECT muniment_make_partitions(1)")


def test_nothing_of_the_url_is_in_what_is_said() -> None:
    with pytest.raises(StorageUnavailable) as caught:
        upgrade("postgresql://some-user:some-secret@127.0.0.1:1/some-database")
    assert "some" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_the_owner_is_bound_by_row_security_and_migrates_all_the_same(
    postgres: PostgresDatabase,
) -> None:
    connection = await asyncpg.connect(postgres.owner_url)
    try:
        postgres.execute("INSERT INTO chain_heads VALUES ('acme', 1, '')")
        assert await connection.fetchval("SELECT count(*) FROM chain_heads") == 0
    finally:
        await connection.close()
