"""`muniment health`."""

from typing import Annotated

import typer

from gateway.cli.options import DEFAULT_ADDRESS, Address, AsJson, Connection


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(health)


def health(
    wait: Annotated[
        float,
        typer.Option(help="How long to wait until it is ready.", metavar="SECONDS", min=0.1, max=3600.0),
    ] = 1.0,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Ask a gateway whether it is ready for calls; exit code 6 where it is not. For probes and start scripts.

    Example: muniment health --address 127.0.0.1:7463 --wait 30
    """
    from gateway.cli.run.health import health as run

    run(Connection(address, as_json), wait)
