"""How Alembic runs our migrations: online, all in one transaction, so that a schema is of one revision or another."""

import sqlalchemy as sa
from alembic import context

from storage.sql.schema import metadata


def run() -> None:
    """Connect to the configured database and run what is asked for."""
    url = context.config.get_main_option("sqlalchemy.url")
    if url is None:
        raise SystemExit("no database URL is configured")
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
        with context.begin_transaction():
            context.run_migrations()


run()
