"""How Alembic runs our migrations: all in one transaction, so that a schema is of one revision or another.

Online on the connection that it is handed, or else on one to the configured URL; offline it writes statements.
"""

import sqlalchemy as sa
from alembic import context

from storage.sql.roles import APP_ROLE
from storage.sql.schema import metadata
from storage.sql.tables.base import belongs_to

ATTRIBUTES = context.config.attributes


def run() -> None:
    """Run what is asked for."""
    if context.is_offline_mode():
        _configure(
            dialect_name=ATTRIBUTES["dialect"],
            # Another style would double each percent sign.
            dialect_opts={"paramstyle": "named"},
            literal_binds=True,
            output_buffer=ATTRIBUTES["output"],
        )
        _migrate()
        return
    handed: sa.Connection | None = ATTRIBUTES.get("connection")
    if handed is not None:
        _migrate_on(handed)
        return
    with _engine().connect() as connection:
        _migrate_on(connection)


def _engine() -> sa.Engine:
    url = context.config.get_main_option("sqlalchemy.url")
    if url is None:
        raise SystemExit("no database URL is configured")
    return sa.create_engine(url, poolclass=sa.NullPool)


def _migrate_on(connection: sa.Connection) -> None:
    _configure(connection=connection, include_object=belongs_to(connection.dialect.name))
    _migrate()


def _configure(**options: object) -> None:
    role = ATTRIBUTES.get("app_role", APP_ROLE)
    context.configure(target_metadata=metadata, render_as_batch=True, app_role=role, **options)  # type: ignore[arg-type]  # passed on as they are


def _migrate() -> None:
    with context.begin_transaction():
        context.run_migrations()


run()
