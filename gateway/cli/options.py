"""Options that several commands share, each with its variable of the environment."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

DEFAULT_ADDRESS = "127.0.0.1:7463"

Address = Annotated[
    str,
    typer.Option("--address", envvar="MUNIMENT_ADDRESS", help="The gateway to call.", metavar="HOST:PORT"),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the answer as proto JSON, and errors as google.rpc.Status.")
]
Tenant = Annotated[
    str, typer.Option("--tenant", "-t", envvar="MUNIMENT_TENANT", help="The tenant.", metavar="ID")
]
User = Annotated[str, typer.Option("--user", "-u", envvar="MUNIMENT_USER", help="The user.", metavar="ID")]
Session = Annotated[
    str, typer.Option("--session", "-s", envvar="MUNIMENT_SESSION", help="The session.", metavar="ID")
]
Policy = Annotated[
    str,
    typer.Option(
        "--policy",
        "-p",
        envvar="MUNIMENT_POLICY",
        help="The policy, by id or resource name; without it the tenant's default.",
        metavar="NAME",
    ),
]
TraceRef = Annotated[
    str,
    typer.Argument(
        help="The trace: its resource name, its id with --tenant, or `last` with --tenant and --user.",
        metavar="TRACE",
        show_default=False,
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check and show, and write nothing.")]
PageSize = Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="How many to show at most.")]
InputFile = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, readable=True, metavar="FILE", show_default=False)
]


@dataclass(frozen=True, slots=True)
class Connection:
    """Which gateway to call, and how to print what it says."""

    address: str
    as_json: bool


@dataclass(frozen=True, slots=True)
class Who:
    """For whom. Empty where the command was not told."""

    tenant: str = ""
    user: str = ""
