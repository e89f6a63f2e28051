"""`muniment prefix`."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.options import DEFAULT_ADDRESS, Address, AsJson, Connection, DryRun, PageSize, Tenant

app = typer.Typer(
    no_args_is_help=True, help="System texts and tools, the same bytes for every call: register, list, show."
)

PrefixRef = Annotated[
    str, typer.Argument(metavar="PREFIX", help="Its id, or its resource name.", show_default=False)
]


@app.command()
def register(
    prefix_id: Annotated[str, typer.Argument(metavar="ID", help="The prefix's id.", show_default=False)],
    tenant: Tenant,
    text: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="The system text.", metavar="FILE", show_default=False
        ),
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="JSON: a list of {name, description, parameters}.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            help="Let this kind of dynamic-looking text pass: date, time, uuid, email, template.",
            metavar="KIND",
            show_default=False,
        ),
    ] = None,
    dry_run: DryRun = False,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Store a prefix as an immutable revision. What looks as if it changed from call to call is refused.

    Example: muniment prefix register default --text system.txt --tools tools.json -t acme
    """
    from gateway.cli.run import prefixes as run

    allowed = tuple(allow or ())
    run.register(Connection(address, as_json), tenant, prefix_id, text, tools, allowed, dry_run)


@app.command("list")
def list_prefixes(
    prefix: PrefixRef,
    tenant: Tenant = "",
    limit: PageSize = 50,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """List the revisions of a prefix, newest first.

    Example: muniment prefix list default -t acme
    """
    from gateway.cli.run import prefixes as run

    run.list_prefixes(Connection(address, as_json), tenant, prefix, limit)


@app.command()
def show(
    prefix: PrefixRef, tenant: Tenant = "", address: Address = DEFAULT_ADDRESS, as_json: AsJson = False
) -> None:
    """Show a prefix's text and tools; of an id the newest.

    Example: muniment prefix show default -t acme
    """
    from gateway.cli.run import prefixes as run

    run.show(Connection(address, as_json), tenant, prefix)
