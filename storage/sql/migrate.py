"""Bring a stored schema up to this release. A program of its own, since Alembic costs a second to import.

`python -m storage.sql.migrate URL` upgrades the database at a SQLAlchemy URL to the newest revision.
"""

import sys
from pathlib import Path

from alembic import command
from alembic.config import Config


def migration_config(url: str) -> Config:
    """Alembic's configuration for a database; it needs no file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    # ConfigParser reads a percent sign as the start of an interpolation.
    config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


def main(arguments: list[str]) -> int:
    """Upgrade the database that the only argument names."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m storage.sql.migrate URL\n")
        return 2
    command.upgrade(migration_config(arguments[0]), "head")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
