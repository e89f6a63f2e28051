"""`migrate`: the database's schema, beside the gateways."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from gateway.cli.exits import ExitCode
from gateway.cli.run.output import fail
from storage.errors import DataFolderInUse, NotFound, SchemaMismatch, StorageError, StorageUnavailable
from storage.sql.revision import REVISION


@dataclass(frozen=True, slots=True)
class Place:
    """Where the data is: a Postgres, or without a URL a data folder."""

    database_url: str | None
    data_dir: Path
    app_role: str

    @property
    def name(self) -> str:
        """How messages call it: a URL may hold a password."""
        return "the database" if self.database_url else f"data folder {self.data_dir}"

    def upgrade(self) -> str | None:
        """Bring it to this release's schema; the revision that was found."""
        if self.database_url:
            from storage.postgres import migrating  # its driver comes with an extra

            return migrating.upgrade(self.database_url, self.app_role)
        from storage.sqlite import migrating as folders

        return folders.upgrade(self.data_dir)

    def status(self) -> str | None:
        """The revision that it has."""
        if self.database_url:
            from storage.postgres import migrating

            return migrating.status(self.database_url)
        from storage.sqlite import migrating as folders

        return folders.status(self.data_dir)

    def sql(self) -> str:
        """What an upgrade would do."""
        if self.database_url:
            from storage.postgres import migrating

            return migrating.sql(self.database_url, self.app_role)
        from storage.sqlite import migrating as folders

        return folders.sql(self.data_dir)


def up(place: Place) -> None:
    """Upgrade."""
    with _telling(place):
        found = place.upgrade()
    if found == REVISION:
        typer.echo(f"{place.name}: schema {REVISION} is up to date")
    else:
        typer.echo(f"{place.name}: schema {found or 'none'} was brought to {REVISION}")


def status(place: Place) -> None:
    """Say where it stands."""
    with _telling(place):
        found = place.status()
    if found != REVISION:
        has = "has no schema" if found is None else f"has schema {found}"
        fail(
            f"{place.name} {has}, and this release needs {REVISION}: run muniment migrate up",
            ExitCode.PRECONDITION,
        )
    typer.echo(f"{place.name}: schema {REVISION} is up to date")


def sql(place: Place) -> None:
    """Print the statements."""
    with _telling(place):
        statements = place.sql()
    typer.echo(statements or f"-- {place.name}: schema {REVISION} is up to date, there is nothing to do")


@contextmanager
def _telling(place: Place) -> Iterator[None]:
    """End the command with what went wrong."""
    try:
        yield
    except NotFound as error:
        fail(f"{place.name}: {error}", ExitCode.NOT_FOUND)
    except SchemaMismatch as error:
        fail(f"{place.name}: {error}", ExitCode.PRECONDITION)
    except (StorageUnavailable, DataFolderInUse) as error:
        fail(f"{place.name}: {error}", ExitCode.UNAVAILABLE)
    except StorageError as error:
        fail(f"{place.name}: {error}", ExitCode.DENIED)
    except ValueError as error:
        # An address or the name of a role; their texts quote nothing of a URL.
        fail(str(error), ExitCode.USAGE)
    except ModuleNotFoundError:
        fail(
            "Postgres needs the extra `postgres`: install it with pip install 'muniment[postgres]'",
            ExitCode.USAGE,
        )
