"""`play`: a recorded conversation through the gateway, and what came out of it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gateway.cli.exits import ExitCode
from gateway.cli.options import Connection
from gateway.cli.run.output import calling, emit, fail, progress
from gateway.cli.show.budget import budget_view
from gateway.cli.show.problems import Source, diagnostic_lines
from gateway.cli.show.prompt import PromptView
from gateway.cli.show.tables import import_line, verdict_lines
from gateway.cli.show.visible import short_name, shortened
from gateway.client.conversations import Answer, Conversation, LineError, Played, Player, read_conversation
from gateway.client.conversations.records import PolicySource
from muniment.v1.fact_pb2 import FactResult
from muniment.v1.trace_pb2 import GetTraceRequest
from muniment.v1.types_pb2 import Role

_SAID_CHARACTERS = 40
_PLAYED_BEFORE = "it was played before: --session with another id plays it once more"
_HINTS = {"TURN_ID_REUSED": _PLAYED_BEFORE, "INVALIDATED": _PLAYED_BEFORE}


def play(connection: Connection, file: Path, user: str, session: str) -> None:
    """Play a file; user and live session can be others than the file's."""
    conversation = _renamed(read(file), user, session)
    with calling(connection, policy_source(conversation), _HINTS) as client, progress(connection) as advance:
        played = Player(client, conversation, advance).play()
        last = played.answers[-1].response
        trace = client.call(client.traces.GetTrace, GetTraceRequest(name=last.trace)).trace
    budget = budget_view(last.prompt.budget_report, trace.candidates)
    views = (*summary(conversation, played), PromptView(last.prompt), budget)
    emit(connection, last, *views, Text(f"trace {last.trace}"))


def read(file: Path) -> Conversation:
    """The conversation in a file; a line that does not fit ends the command."""
    try:
        return read_conversation(file, datetime.now(UTC))
    except LineError as error:
        fail(str(error), ExitCode.INVALID)
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}", ExitCode.INVALID)


def policy_source(conversation: Conversation) -> Source | None:
    """The policy's text, to show diagnostics where they stand."""
    policy = conversation.header.policy
    if not isinstance(policy, PolicySource) or not policy.file:
        return None
    return Source(policy.file, policy.yaml.decode("utf-8", "replace"))


def _renamed(conversation: Conversation, user: str, session: str) -> Conversation:
    header, live = conversation.header, conversation.live
    return replace(
        conversation,
        header=replace(header, user=user or header.user),
        live=replace(live, session_id=session or live.session_id),
    )


def summary(conversation: Conversation, played: Played) -> Iterator[RenderableType]:
    """What was played, in a few lines."""
    header = conversation.header
    yield Text(shortened(header.title or conversation.file, 200), "bold")
    yield Text(f"tenant {header.tenant}, user {header.user}", "dim")
    yield from diagnostic_lines(played.warnings)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", ratio=1)
    for label, line in _steps(conversation, played):
        grid.add_row(Text(label, "dim"), line)
    yield grid


def _steps(conversation: Conversation, played: Played) -> Iterator[tuple[str, Text]]:
    if played.policy:
        yield "policy", Text(short_name(played.policy))
    for prefix in played.prefixes:
        yield "prefix", Text(f"{short_name(prefix.name)} with {len(prefix.tools)} tools")
    if played.verdicts:
        yield "facts", _verdicts(played.verdicts)
        yield from (("", line) for line in _refusals(conversation, played))
    if conversation.past:
        yield "history", import_line(played.imported)
    yield "live", Text(f"session {conversation.live.session_id!r}, {conversation.live_turns} turns")
    yield from (("", _turn(answer)) for answer in played.answers)


def _verdicts(verdicts: Sequence[FactResult]) -> Text:
    accepted = sum(result.verdict == FactResult.VERDICT_ACCEPTED for result in verdicts)
    superseded = sum(len(result.superseded) for result in verdicts)
    refused = len(verdicts) - accepted
    return Text(f"{accepted} accepted, {superseded} of them superseded by newer ones, {refused} refused")


def _refusals(conversation: Conversation, played: Played) -> Iterator[Text]:
    pairs = zip(conversation.facts, played.verdicts, strict=True)
    told = [(fact.key, result) for fact, result in pairs if result.verdict == FactResult.VERDICT_REFUSED]
    yield from verdict_lines([key for key, _ in told], [result for _, result in told])


def _turn(answer: Answer) -> Text:
    role = Role.Name(answer.turn.role).removeprefix("ROLE_").lower()
    used = answer.response.prompt.budget_report.used
    text = " ".join(content.text for content in answer.turn.contents)
    said = f"“{shortened(text, _SAID_CHARACTERS)}”" if text.strip() else "a tool's result"
    return Text(f"{role}: {said} → {used} tokens, {answer.seconds * 1000:.0f} ms")
