"""`muniment migrate`."""

from pathlib import Path
from typing import Annotated

import typer

from storage.sql.roles import APP_ROLE

app = typer.Typer(
    no_args_is_help=True,
    help="The database's schema: bring it up to this release, look, or see the SQL first. Calls no gateway.",
)

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        envvar="MUNIMENT_DATABASE_URL",
        help="The Postgres, as its owner and not as the gateways. Best given in the environment.",
        metavar="URL",
        show_default="the data folder",
    ),
]
DataDir = Annotated[
    Path,
    typer.Option(
        envvar="MUNIMENT_DATA_DIR",
        file_okay=False,
        help="The data folder; its gateway must be stopped for `up`. Not looked at with --database-url.",
    ),
]
AppRole = Annotated[
    str,
    typer.Option(
        envvar="MUNIMENT_APP_ROLE",
        help="The role on Postgres that the gateways' logins are members of; made where it is missing.",
        metavar="ROLE",
    ),
]
DEFAULT_DATA_DIR = Path("data")


@app.command()
def up(
    database_url: DatabaseUrl = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    app_role: AppRole = APP_ROLE,
) -> None:
    """Bring the schema up to this release, whole or not at all. Where somebody else is at it, wait for them.

    Example: muniment migrate up --database-url postgresql://owner@db.example.com/muniment
    """
    from gateway.cli.run import migrate as run

    run.up(run.Place(database_url, data_dir, app_role))


@app.command()
def status(
    database_url: DatabaseUrl = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
) -> None:
    """Say which schema the database has. Exit code 5 where it is not this release's.

    Example: muniment migrate status --data-dir data
    """
    from gateway.cli.run import migrate as run

    run.status(run.Place(database_url, data_dir, APP_ROLE))


@app.command()
def sql(
    database_url: DatabaseUrl = None,
    data_dir: DataDir = DEFAULT_DATA_DIR,
    app_role: AppRole = APP_ROLE,
) -> None:
    """Print what `up` would do, as SQL, and do nothing.

    Example: muniment migrate sql --database-url postgresql://owner@db.example.com/muniment
    """
    from gateway.cli.run import migrate as run

    run.sql(run.Place(database_url, data_dir, app_role))
