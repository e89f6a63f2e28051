"""Prints answers: tables and colours for people, proto JSON for scripts; problems and progress go to stderr."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

import typer
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.text import Text

from gateway.cli.exits import exit_code
from gateway.cli.options import Connection
from gateway.cli.show.problems import Source, problem_lines
from gateway.client import CallError, Client, connect
from gateway.client.conversations.player import Progress as Report

_NO_HINTS: Mapping[str, str] = {}


def console(stderr: bool = False) -> Console:
    """A console that takes texts as they are: no markup, no emoji codes, no guessing at what to highlight."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def emit(connection: Connection, answer: Message, *views: RenderableType) -> None:
    """Print the answer as JSON where that is asked for, and else its views."""
    if connection.as_json:
        typer.echo(MessageToJson(answer, ensure_ascii=False))
        return
    out = console()
    for view in views:
        # Names and YAML are for copying: a line of text is never broken, a table or a prompt is.
        out.print(view, soft_wrap=isinstance(view, Text))


@contextmanager
def calling(
    connection: Connection, source: Source | None = None, hints: Mapping[str, str] = _NO_HINTS
) -> Iterator[Client]:
    """A client; a call that fails is told on stderr and ends the command with its exit code.

    `source` is the policy's text, for diagnostics; `hints` say by reason what else to try.
    """
    try:
        with connect(connection.address) as client:
            yield client
    except CallError as error:
        hint = hints.get(error.reason)
        if hint is not None and not connection.as_json:
            typer.echo(f"hint: {hint}", err=True)
        report(error, connection, source)


def report(error: CallError, connection: Connection, source: Source | None = None) -> NoReturn:
    """Tell a failed call, and end the command."""
    if connection.as_json:
        typer.echo(MessageToJson(error.status, ensure_ascii=False), err=True)
    else:
        err = console(stderr=True)
        for line in problem_lines(error, source):
            err.print(line, soft_wrap=True)
    raise typer.Exit(exit_code(error.code.name))


def fail(message: str, code: int) -> NoReturn:
    """Tell a problem of our own, which names its remedy, and end the command."""
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(code)


@contextmanager
def progress(connection: Connection) -> Iterator[Report]:
    """Bars on stderr where that is a terminal; quiet for pipes and `--json`."""
    err = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=err, transient=True, disable=connection.as_json or not err.is_terminal
    ) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done)

        yield advance
