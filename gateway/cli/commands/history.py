"""`muniment history`."""

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
    Policy,
    Tenant,
    User,
    Who,
)

app = typer.Typer(no_args_is_help=True, help="What was said in past sessions: import and search.")


@app.command("import")
def import_file(
    file: InputFile,
    tenant: Tenant,
    user: User,
    policy: Policy = "",
    dry_run: DryRun = False,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Archive past sessions from a file of JSON lines: `session` and `turn`, as docs/conversation-format.md says.

    Example: muniment history import sessions.jsonl -t acme -u dana -p policies/memory
    """
    from gateway.cli.run import history as run

    run.import_file(Connection(address, as_json), Who(tenant, user), file, policy, dry_run)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="Plain words.", show_default=False)],
    tenant: Tenant,
    user: User,
    policy: Policy = "",
    limit: PageSize = 10,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Search a user's archive as an assembly would.

    Example: muniment history search "credit note" -t acme -u dana
    """
    from gateway.cli.run import history as run

    run.search(Connection(address, as_json), Who(tenant, user), query, policy, limit)
