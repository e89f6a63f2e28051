"""`muniment why`, `why-not`, `replay` and `trace`."""

from typing import Annotated

import typer

from gateway.cli.options import (
    DEFAULT_ADDRESS,
    Address,
    AsJson,
    Connection,
    PageSize,
    Session,
    Tenant,
    TraceRef,
    User,
    Who,
)

trace_app = typer.Typer(
    no_args_is_help=True, help="The records of assemblies: list, show, and where an item appeared."
)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(why)
    app.command("why-not")(why_not)
    app.command()(replay)
    app.add_typer(trace_app, name="trace")


def why(
    trace: TraceRef,
    item: Annotated[
        str,
        typer.Argument(
            help="The item, as the prompt's left column names it, such as fact/3.",
            metavar="ITEM",
            show_default=False,
        ),
    ],
    tenant: Tenant = "",
    user: User = "",
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Say why an item is in a prompt: its whole line of descent.

    Example: muniment why last fact/3 -t acme -u dana
    """
    from gateway.cli.run import traces as run

    run.why(Connection(address, as_json), Who(tenant, user), trace, item)


def why_not(
    trace: TraceRef,
    fact: Annotated[str, typer.Option(help="The key of a fact that is missed.", metavar="KEY")] = "",
    fact_name: Annotated[str, typer.Option(help="The fact that is missed.", metavar="NAME")] = "",
    excerpt: Annotated[str, typer.Option(help="The excerpt that is missed.", metavar="NAME")] = "",
    text: Annotated[str, typer.Option(help="Words of what is missed.", metavar="WORDS")] = "",
    tenant: Tenant = "",
    user: User = "",
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Say why something is not in a prompt, and what would have let it in.

    Example: muniment why-not last --fact currency -t acme -u dana
    """
    from gateway.cli.run import traces as run

    missed = {"fact": fact, "fact_name": fact_name, "excerpt": excerpt, "text": text}
    run.why_not(Connection(address, as_json), Who(tenant, user), trace, missed)


def replay(
    trace: TraceRef,
    tenant: Tenant = "",
    user: User = "",
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Make a prompt again from its trace; exit code 10 where a byte differs.

    Example: muniment replay last -t acme -u dana
    """
    from gateway.cli.run import traces as run

    run.replay(Connection(address, as_json), Who(tenant, user), trace)


@trace_app.command("list")
def list_traces(
    tenant: Tenant,
    user: User = "",
    session: Session = "",
    limit: PageSize = 20,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """List the newest traces.

    Example: muniment trace list -t acme -u dana
    """
    from gateway.cli.run import traces as run

    run.list_traces(Connection(address, as_json), Who(tenant, user), session, limit)


@trace_app.command("show")
def show(
    trace: TraceRef,
    tenant: Tenant = "",
    user: User = "",
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Show a trace: budget, all candidates and their fate.

    Example: muniment trace show last -t acme -u dana
    """
    from gateway.cli.run import traces as run

    run.show(Connection(address, as_json), Who(tenant, user), trace)


@trace_app.command("appearances")
def appearances(
    item: Annotated[
        str,
        typer.Argument(
            help="The item, such as fact/3, excerpt/12 or slot/focus.", metavar="ITEM", show_default=False
        ),
    ],
    tenant: Tenant,
    user: User,
    limit: PageSize = 20,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """List the prompts in which an item appeared, the newest first.

    Example: muniment trace appearances fact/3 -t acme -u dana
    """
    from gateway.cli.run import traces as run

    run.appearances(Connection(address, as_json), Who(tenant, user), item, limit)
