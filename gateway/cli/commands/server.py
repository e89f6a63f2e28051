"""`muniment serve` and `muniment demo`."""

from pathlib import Path
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(serve)
    app.command()(demo)


def serve(
    listen: Annotated[
        str | None,
        typer.Option(
            help="Where to listen; port 0 lets the system choose.",
            metavar="HOST:PORT",
            show_default="127.0.0.1:7463",
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="The folder of the database; made where it is missing.", file_okay=False, show_default="data"
        ),
    ] = None,
) -> None:
    """Run the gateway on this machine, until SIGTERM or Ctrl-C, which drain.

    Also read: MUNIMENT_LISTEN, MUNIMENT_DATA_DIR, MUNIMENT_LOG_LEVEL, MUNIMENT_OTEL.

    Example: muniment serve --listen 127.0.0.1:7463 --data-dir data
    """
    from gateway.cli.run import serve as run

    run.serve(listen, data_dir)


def demo(
    conversation: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            exists=True,
            dir_okay=False,
            help="A conversation of your own.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Start a gateway of its own, play a recorded conversation, show the prompt and where it comes from.

    Example: muniment demo
    """
    from gateway.demo.main import demo as run

    raise typer.Exit(run(conversation))
