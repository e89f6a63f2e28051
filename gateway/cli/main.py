"""The `muniment` command: all its parts under one name."""

import io
import os
import sys
from typing import Annotated

import typer

from gateway.cli.commands import (
    facts,
    health,
    history,
    keys,
    migrate,
    policy,
    prefix,
    prompts,
    server,
    traces,
)
from gateway.cli.exits import HELP


def _show_version(wanted: bool) -> None:
    if wanted:
        from gateway.version import ENGINE_VERSION  # reading the metadata of packages takes its time

        typer.echo(f"muniment {ENGINE_VERSION}")
        raise typer.Exit


app = typer.Typer(
    name="muniment",
    no_args_is_help=True,
    # A traceback quotes what was read, and tells a user nothing.
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Prompts from memory, within a budget, in which every byte has a known origin.",
    epilog=HELP,
)


@app.callback()
def muniment(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the release and exit.", is_eager=True, callback=_show_version),
    ] = False,
) -> None:
    """Prompts from memory, within a budget, in which every byte has a known origin."""


server.add_to(app)
health.add_to(app)
prompts.add_to(app)
traces.add_to(app)
app.add_typer(facts.app, name="facts")
app.add_typer(history.app, name="history")
app.add_typer(keys.app, name="keys")
app.add_typer(migrate.app, name="migrate")
app.add_typer(policy.app, name="policy")
app.add_typer(prefix.app, name="prefix")


def main() -> None:
    """The entry point of the command."""
    # What grpc's core writes to stderr by itself repeats, for its makers, what our messages say.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a mark in its place, and not a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
