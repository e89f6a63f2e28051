"""`muniment policy`."""

from typing import Annotated

import typer

from gateway.cli.options import (
    DEFAULT_ADDRESS,
    Address,
    AsJson,
    Connection,
    DryRun,
    InputFile,
    PageSize,
    Tenant,
)

app = typer.Typer(
    no_args_is_help=True,
    help="What decides how prompts are put together: check, register, activate, roll back.",
)

PolicyRef = Annotated[
    str, typer.Argument(metavar="POLICY", help="Its id, or its resource name.", show_default=False)
]
RevisionRef = Annotated[
    str,
    typer.Argument(
        metavar="REVISION",
        help="Its resource name, ID@DIGEST with the digest's first digits, or an id: the newest.",
        show_default=False,
    ),
]
Default = Annotated[
    bool | None,
    typer.Option(
        "--default/--no-default",
        help="Whether calls that name no policy get this one.",
        show_default="as it is",
    ),
]


@app.command()
def validate(
    file: InputFile, tenant: Tenant, address: Address = DEFAULT_ADDRESS, as_json: AsJson = False
) -> None:
    """Check a policy, and show each fault with line, column and remedy. Exit code 4 where it has errors.

    Example: muniment policy validate support.yaml -t acme
    """
    from gateway.cli.run import policies as run

    run.validate(Connection(address, as_json), tenant, file)


@app.command()
def register(
    file: InputFile,
    tenant: Tenant,
    activate: Annotated[bool, typer.Option("--activate", help="Put it in force too.")] = False,
    default: Default = None,
    dry_run: DryRun = False,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Store a policy as an immutable revision, named by the hash of its content.

    Example: muniment policy register support.yaml --activate -t acme
    """
    from gateway.cli.run import policies as run

    run.register(
        Connection(address, as_json), tenant, file, activate=activate, default=default, dry_run=dry_run
    )


@app.command()
def activate(
    revision: RevisionRef,
    tenant: Tenant = "",
    default: Default = None,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Put a revision in force, from the next call on.

    Example: muniment policy activate support@3f2b9c -t acme
    """
    from gateway.cli.run import policies as run

    run.activate(Connection(address, as_json), tenant, revision, default)


@app.command()
def rollback(
    policy: PolicyRef, tenant: Tenant = "", address: Address = DEFAULT_ADDRESS, as_json: AsJson = False
) -> None:
    """Put the revision in force that was so before.

    Example: muniment policy rollback support -t acme
    """
    from gateway.cli.run import policies as run

    run.rollback(Connection(address, as_json), tenant, policy)


@app.command("list")
def list_policies(
    tenant: Tenant, limit: PageSize = 50, address: Address = DEFAULT_ADDRESS, as_json: AsJson = False
) -> None:
    """List a tenant's policies and the built-in ones.

    Example: muniment policy list -t acme
    """
    from gateway.cli.run import policies as run

    run.list_policies(Connection(address, as_json), tenant, limit)


@app.command()
def show(
    policy: RevisionRef, tenant: Tenant = "", address: Address = DEFAULT_ADDRESS, as_json: AsJson = False
) -> None:
    """Show a policy as YAML, ready to be copied and registered; of an id what is in force.

    Example: muniment policy show policies/memory
    """
    from gateway.cli.run import policies as run

    run.show(Connection(address, as_json), tenant, policy)


@app.command()
def revisions(
    policy: PolicyRef,
    tenant: Tenant = "",
    limit: PageSize = 50,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """List the revisions of a policy, newest first.

    Example: muniment policy revisions support -t acme
    """
    from gateway.cli.run import policies as run

    run.revisions(Connection(address, as_json), tenant, policy, limit)
