"""The schema: metadata, migrations and the known revision say the same."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateTable

from storage.sql.migrate import main, migration_config
from storage.sql.revision import REVISION
from storage.sql.schema import metadata
from storage.sql.tables.base import belongs_to


def migrated(folder: Path) -> sa.Engine:
    path = folder / "migrated.db"
    assert main([f"sqlite:///{path}"]) == 0
    return sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)


def alembic_context(connection: sa.Connection) -> MigrationContext:
    return MigrationContext.configure(connection, opts={"include_object": belongs_to("sqlite")})


def objects(engine: sa.Engine) -> dict[str, str]:
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").all()
    return {
        name: " ".join(sql.replace('"', "").replace("'", "").split())
        for name, sql in rows
        if "alembic" not in name
    }


def test_the_migrations_lead_to_the_metadata(tmp_path: Path) -> None:
    engine = migrated(tmp_path)
    with engine.connect() as connection:
        differences = compare_metadata(alembic_context(connection), metadata)
    assert differences == []


def test_the_migrations_and_the_metadata_give_equal_statements(tmp_path: Path) -> None:
    """What Alembic does not compare: collations, conditions of indexes, tables without a rowid."""
    created = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    metadata.create_all(created)
    expected = objects(created)
    created.dispose()
    assert objects(migrated(tmp_path)) == expected


def test_the_known_revision_is_the_only_head() -> None:
    assert ScriptDirectory.from_config(migration_config("sqlite://")).get_heads() == [REVISION]


def test_migrations_can_be_taken_back(tmp_path: Path) -> None:
    engine = migrated(tmp_path)
    command.downgrade(migration_config(str(engine.url)), "base")
    assert objects(engine) == {}


def test_a_wrong_call_says_how_it_is_used() -> None:
    assert main([]) == 2


def test_tenant_and_user_lead_every_key() -> None:
    of_no_tenant = {"master_keys"}
    for table in metadata.tables.values():
        if table.name in of_no_tenant:
            continue
        keys = [table.primary_key, *(c for c in table.constraints if isinstance(c, sa.UniqueConstraint))]
        for key in keys:
            names = [column.name for column in key.columns]
            assert names[0] == "tenant_id", table.name
            if "user_id" in table.c and table.name not in ("traces", "receipts"):
                assert names[1] == "user_id", table.name


def test_ids_compare_by_bytes_on_both_dialects() -> None:
    for table in metadata.tables.values():
        on_postgres = str(CreateTable(table).compile(dialect=postgresql.dialect()))
        on_sqlite = str(CreateTable(table).compile(dialect=sqlite.dialect()))
        for column in table.c:
            if isinstance(column.type, sa.String) and not isinstance(column.type, sa.Text):
                assert f'{column.name} VARCHAR COLLATE "C"' in on_postgres
                assert f'{column.name} VARCHAR COLLATE "BINARY"' in on_sqlite
