"""`muniment keys`."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    help="Master keys and users' keys, under which content is encrypted: create, rotate, look. Calls no gateway.",
)

KeyFile = Annotated[
    Path, typer.Argument(metavar="FILE", dir_okay=False, help="The file of master keys.", show_default=False)
]
DataDir = Annotated[
    Path,
    typer.Option(
        envvar="MUNIMENT_DATA_DIR",
        file_okay=False,
        help="The data folder; its gateway must be stopped. Not looked at with --database-url.",
    ),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        envvar="MUNIMENT_DATABASE_URL",
        help="The Postgres, as its owner; gateways may go on. Best given in the environment.",
        metavar="URL",
        show_default="the data folder",
    ),
]
MasterKeyFile = Annotated[
    Path | None,
    typer.Option(
        envvar="MUNIMENT_MASTER_KEY_FILE",
        dir_okay=False,
        help="The file of master keys. Required with --database-url.",
        show_default="DATA_DIR/master.key",
    ),
]


@app.command()
def create(file: KeyFile) -> None:
    """Make a file with a new master key, mode 0600. A file that is there is left as it is.

    Keep a copy of it, apart from the backups of the data: without it nobody can read them.

    Example: muniment keys create master.key
    """
    from gateway.cli.run import keys as run

    run.create(file)


@app.command()
def add(file: KeyFile) -> None:
    """Add a spare master key for the next rotation: so that it is in all copies of the file before it is used.

    Example: muniment keys add master.key
    """
    from gateway.cli.run import keys as run

    run.add(file)


@app.command()
def rotate(
    data_dir: DataDir = Path("data"),
    database_url: DatabaseUrl = None,
    master_key_file: MasterKeyFile = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Take the current master key, to finish what was cut off.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Only drop master keys that nothing is wrapped by any more.")
    ] = False,
    tenant: Annotated[
        str, typer.Option("--tenant", "-t", metavar="ID", help="With --user: rotate this user's key.")
    ] = "",
    user: Annotated[str, typer.Option("--user", "-u", metavar="ID", help="See --tenant.")] = "",
) -> None:
    """Rotate the master key, or one user's key.

    A new master key wraps all tenants' keys; content is not touched, and the old one stays in the file until --prune. A
    user's new key encrypts that user's content anew. Both may be run again after they were cut off.

    Example: muniment keys rotate --data-dir data

    Example: muniment keys rotate --database-url URL --master-key-file master.key --tenant acme --user ada
    """
    from gateway.cli.run import keys as run

    place = run.Place(data_dir, database_url, master_key_file)
    if bool(tenant) != bool(user):
        raise typer.BadParameter("--tenant and --user go together")
    if sum((resume, prune, bool(user))) > 1:
        raise typer.BadParameter("--resume, --prune and --user exclude each other")
    if user:
        run.rotate_user(place, tenant, user)
    elif prune:
        run.prune(place)
    else:
        run.rotate_master(place, resume)


@app.command()
def status(
    data_dir: DataDir = Path("data"),
    database_url: DatabaseUrl = None,
    master_key_file: MasterKeyFile = None,
) -> None:
    """List the master keys, and how many tenants' keys each wraps.

    Example: muniment keys status --data-dir data
    """
    from gateway.cli.run import keys as run

    run.status(run.Place(data_dir, database_url, master_key_file))
