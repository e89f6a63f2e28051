"""`muniment facts`."""

from enum import StrEnum
from typing import Annotated

import typer

from gateway.cli.options import (
    DEFAULT_ADDRESS,
    Address,
    AsJson,
    Connection,
    DryRun,
    PageSize,
    Policy,
    Tenant,
    User,
    Who,
)

app = typer.Typer(
    no_args_is_help=True, help="What is remembered of a user: record, list, get, invalidate, delete."
)

FactRef = Annotated[
    str,
    typer.Argument(
        metavar="FACT", help="Its resource name, or fact/12 with --tenant and --user.", show_default=False
    ),
]


class ValueType(StrEnum):
    """Types of values, as the contract names them."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    INSTANT = "instant"
    STATEMENT = "statement"


class Origin(StrEnum):
    """How a fact came to be known."""

    STATED = "stated"
    TOOL = "tool"
    IMPORTED = "imported"
    OPERATOR = "operator"


@app.command()
def record(
    key: Annotated[str, typer.Argument(help="A key of the policy's allowlist.", show_default=False)],
    value: Annotated[str, typer.Argument(help="The value.", show_default=False)],
    tenant: Tenant,
    user: User,
    value_type: Annotated[ValueType, typer.Option("--type", help="The value's type.")] = ValueType.TEXT,
    origin: Annotated[Origin, typer.Option(help="How it came to be known.")] = Origin.OPERATOR,
    source: Annotated[str, typer.Option(help="The system or person that it was read from.")] = "command line",
    writer: Annotated[str, typer.Option(help="Who writes it.")] = "muniment-cli",
    read: Annotated[
        str, typer.Option(help="When it was read: -3d, or a date with time zone.", show_default="now")
    ] = "",
    confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="How surely it is known.", show_default="1")
    ] = None,
    policy: Policy = "",
    dry_run: DryRun = False,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Offer a fact to the admission gate. Exit code 4 where the policy refuses it.

    Example: muniment facts record plan team -t acme -u dana
    """
    from gateway.cli.run import facts as run

    claim = run.Claim(key, value, value_type.value, origin.value, source, writer, read, confidence)
    run.record(Connection(address, as_json), Who(tenant, user), claim, policy, dry_run)


@app.command("list")
def list_facts(
    tenant: Tenant,
    user: User,
    key: Annotated[str, typer.Option(help="Only of this key.")] = "",
    everything: Annotated[bool, typer.Option("--all", "-a", help="The retired ones too.")] = False,
    limit: PageSize = 50,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """List a user's facts.

    Example: muniment facts list --all -t acme -u dana
    """
    from gateway.cli.run import facts as run

    run.list_facts(Connection(address, as_json), Who(tenant, user), key, everything, limit)


@app.command()
def get(
    fact: FactRef,
    tenant: Tenant = "",
    user: User = "",
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Show one fact, whatever its state.

    Example: muniment facts get fact/3 -t acme -u dana
    """
    from gateway.cli.run import facts as run

    run.get(Connection(address, as_json), Who(tenant, user), fact)


@app.command()
def invalidate(
    tenant: Tenant,
    user: User,
    reason: Annotated[str, typer.Option(help="Why; kept with the facts.", show_default=False)],
    name: Annotated[str, typer.Option(help="One fact.")] = "",
    key: Annotated[str, typer.Option(help="All of a key.")] = "",
    source: Annotated[str, typer.Option(help="All from a source.")] = "",
    writer: Annotated[str, typer.Option(help="All by a writer.")] = "",
    dry_run: DryRun = False,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Take facts out of use; they stay readable.

    Example: muniment facts invalidate --source crm --reason "wrong customer" -t acme -u dana
    """
    from gateway.cli.run import facts as run

    selector = {"name": name, "key": key, "source": source, "writer": writer}
    run.invalidate(Connection(address, as_json), Who(tenant, user), selector, reason, dry_run)


@app.command()
def delete(
    fact: FactRef,
    tenant: Tenant = "",
    user: User = "",
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Remove a fact's value for good.

    Example: muniment facts delete fact/3 -t acme -u dana
    """
    from gateway.cli.run import facts as run

    run.delete(Connection(address, as_json), Who(tenant, user), fact)
