"""`muniment assemble` and `muniment play`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.options import (
    DEFAULT_ADDRESS,
    Address,
    AsJson,
    Connection,
    DryRun,
    InputFile,
    Policy,
    Session,
    Tenant,
    User,
)


class Body(StrEnum):
    """Renderings that can be printed by themselves."""

    TEXT = "text"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(assemble)
    app.command()(play)


def assemble(
    question: Annotated[
        str, typer.Argument(help="The question; `-` reads it from stdin.", show_default=False)
    ],
    tenant: Tenant,
    user: User,
    session: Session = "",
    policy: Policy = "",
    turn_id: Annotated[
        str,
        typer.Option(
            help="The turn's id; the same again gives the same answer.",
            metavar="ID",
            show_default="a fresh one",
        ),
    ] = "",
    model: Annotated[
        str,
        typer.Option(
            help="The model that the prompt is for.", metavar="PROVIDER/MODEL", show_default="the policy's"
        ),
    ] = "",
    max_tokens: Annotated[
        int | None, typer.Option(min=0, help="The most tokens of the prompt.", show_default="the policy's")
    ] = None,
    material: Annotated[
        list[Path] | None,
        typer.Option(
            "--material",
            "-m",
            exists=True,
            dir_okay=False,
            help="A document for this turn; may be repeated.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    time_zone: Annotated[str, typer.Option(help="The user's time zone.", metavar="IANA")] = "UTC",
    body: Annotated[
        Body | None,
        typer.Option(help="Print this rendering alone, ready for the provider.", show_default=False),
    ] = None,
    dry_run: DryRun = False,
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Make the prompt for a question, coloured by origin, with its budget and its trace.

    Example: muniment assemble "What is still open?" -t acme -u dana -p policies/memory
    """
    from gateway.cli.run import assemble as run

    ask = run.Ask(
        question, tenant, user, session, turn_id, policy, model, max_tokens, tuple(material or ()), time_zone,
        body.value if body else "", dry_run,
    )  # fmt: skip
    run.assemble(Connection(address, as_json), ask)


def play(
    file: InputFile,
    user: Annotated[
        str, typer.Option("--user", "-u", help="Another user than the file's.", metavar="ID")
    ] = "",
    session: Annotated[
        str,
        typer.Option(
            "--session", "-s", help="Another id for the live session than the file's.", metavar="ID"
        ),
    ] = "",
    address: Address = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Play a recorded conversation, and show the prompt of its last turn.

    The format is described in docs/conversation-format.md. A line that does not fit is refused before anything is sent.

    Example: muniment play examples/conversations/coffee-buyer.jsonl
    """
    from gateway.cli.run import play as run

    run.play(Connection(address, as_json), file, user, session)
