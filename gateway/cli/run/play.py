"""`play`: a recorded conversation through the gateway, and what came out of it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from google.protobuf.message import Message
from rich.console import RenderableType
from rich.text import Text

from gateway.cli.exits import ExitCode
from gateway.cli.options import Connection
from gateway.cli.run.output import calling, emit, fail, progress
from gateway.cli.show.budget import budget_view
from gateway.cli.show.problems import Source, diagnostic_lines
from gateway.cli.show.prompt import PromptView
from gateway.cli.show.tables import import_line, short_name, verdict_lines
from gateway.cli.show.visible import shortened
from gateway.client.conversations import Answer, Conversation, LineError, Played, Player, read_conversation
from gateway.client.conversations.records import PolicySource
from muniment.v1.fact_pb2 import FactResult
from muniment.v1.types_pb2 import Role


def play(connection: Connection, file: Path, user: str, session: str) -> None:
    """Play a file; user and live session can be others than the file's."""
    conversation = _renamed(read(file), user, session)
    with calling(connection, policy_source(conversation)) as client, progress(connection) as advance:
        played = Player(client, conversation, advance).play()
    last = played.answers[-1].response
    views = (*summary(conversation, played), PromptView(last.prompt), budget_view(last.prompt.budget_report))
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
    if played.policy:
        yield Text(
            f"policy    {short_name(played.policy)}{' in force' if played.policy.startswith('tenants/') else ''}"
        )
    yield from diagnostic_lines(played.warnings)
    for prefix in played.prefixes:
        yield Text(f"prefix    {short_name(prefix.name)} with {len(prefix.tools)} tools")
    yield from _facts(conversation, played)
    if conversation.past:
        yield Text.assemble("history   ", import_line(played.imported))
    yield Text(f"live      session {conversation.live.session_id!r}, {conversation.live_turns} turns")
    yield from map(_turn, played.answers)


def _facts(conversation: Conversation, played: Played) -> Iterator[Text]:
    accepted = sum(result.verdict == FactResult.VERDICT_ACCEPTED for result in played.verdicts)
    superseded = sum(len(result.superseded) for result in played.verdicts)
    if not played.verdicts:
        return
    refused = len(played.verdicts) - accepted
    yield Text(
        f"facts     {accepted} accepted, {superseded} of them superseded by newer ones, {refused} refused"
    )
    pairs = list(zip(conversation.facts, played.verdicts, strict=True))
    told = [(fact.key, result) for fact, result in pairs if result.verdict == FactResult.VERDICT_REFUSED]
    for line in verdict_lines([key for key, _ in told], [result for _, result in told]):
        yield Text.assemble("          ", line)


def _turn(answer: Answer) -> Text:
    role = Role.Name(answer.turn.role).removeprefix("ROLE_").lower()
    used = answer.response.prompt.budget_report.used
    said = (
        shortened(answer.turn.contents[0].text, 44) if answer.turn.contents[0].text else "(a tool's result)"
    )
    return Text(f"          {role:<5}{said}  → {used} tokens in {answer.seconds * 1000:.0f} ms")


def as_message(played: Played) -> Message:
    """The last answer, which is what scripts want."""
    return played.answers[-1].response
