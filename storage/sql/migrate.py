"""Bring a stored schema up to this release. A program of its own, since Alembic costs a second to import.

`python -m storage.sql.migrate URL` upgrades the database at a URL to the newest revision: `muniment migrate up` for
programs. Postgres is migrated by `storage.postgres.migrating`, which uses what is here.
"""

import io
import sys
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext

from storage.errors import SchemaMismatch
from storage.sql.revision import REVISION
from storage.sql.roles import APP_ROLE, check_role


def migration_config(url: str = "") -> Config:
    """Alembic's configuration for a database; it needs no file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    # ConfigParser reads a percent sign as the start of an interpolation.
    config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


def upgrade_on(connection: sa.Connection, app_role: str = APP_ROLE) -> str | None:
    """Upgrade within the connection's transaction, which the caller commits. Returns the revision that was found.

    Raises `SchemaMismatch` where the schema is newer than this release.
    """
    found = revision_on(connection)
    config = migration_config()
    config.attributes["connection"] = connection
    config.attributes["app_role"] = check_role(app_role)
    command.upgrade(config, "head")
    return found


def revision_on(connection: sa.Connection) -> str | None:
    """The stored schema's revision; None where there is none. Raises `SchemaMismatch` for a newer one."""
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found > REVISION:
        raise SchemaMismatch(
            f"the database is of schema {found}, this release knows {REVISION}; use a newer release"
        )
    return found


def statements(dialect: str, found: str | None, app_role: str = APP_ROLE) -> str:
    """What an upgrade from a revision (None: from nothing) would do, as SQL of a dialect: `sqlite` or `postgresql`."""
    if found == REVISION:
        return ""
    output = io.StringIO()
    config = migration_config()
    config.attributes.update(dialect=dialect, output=output, app_role=check_role(app_role))
    command.upgrade(config, f"{found or 'base'}:head", sql=True)
    return output.getvalue()


def main(arguments: list[str]) -> int:
    """Upgrade the database that the only argument names."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m storage.sql.migrate URL\n")
        return 2
    _upgrade(arguments[0])
    return 0


def _upgrade(url: str) -> None:
    if url.startswith(("postgresql", "postgres:")):
        from storage.postgres.migrating import upgrade  # its driver comes with an extra

        upgrade(url)
    else:
        command.upgrade(migration_config(url), "head")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
