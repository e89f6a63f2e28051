"""`assemble`: one turn in, a prompt out."""

import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from gateway.cli.exits import ExitCode
from gateway.cli.options import Connection
from gateway.cli.run.output import calling, console, emit, fail
from gateway.cli.show.budget import budget_view
from gateway.cli.show.palette import section_name
from gateway.cli.show.prompt import PromptView
from gateway.cli.show.visible import visible
from gateway.client import Client
from muniment.v1.context_pb2 import AssembleContextRequest, AssembleContextResponse, Material
from muniment.v1.trace_pb2 import Candidate, GetTraceRequest
from muniment.v1.types_pb2 import Budget, Content, ModelProfile, PromptFormat, Role, SessionRef, Turn

BODIES = {
    "text": PromptFormat.PROMPT_FORMAT_TEXT,
    "openai": PromptFormat.PROMPT_FORMAT_OPENAI_CHAT,
    "anthropic": PromptFormat.PROMPT_FORMAT_ANTHROPIC_MESSAGES,
}


@dataclass(frozen=True, slots=True)
class Ask:
    """What the command line says about one turn."""

    question: str
    tenant: str
    user: str
    session: str
    turn_id: str
    policy: str
    model: str
    max_tokens: int | None
    material: tuple[Path, ...]
    time_zone: str
    body: str
    dry_run: bool


def assemble(connection: Connection, ask: Ask) -> None:
    """Make the prompt and show it, its budget and its trace; with `body`, print that rendering and nothing else."""
    request = _request(ask)
    with calling(connection) as client:
        answer = client.call(client.context.AssembleContext, request)
        shown = not connection.as_json and not ask.body
        candidates = _candidates(client, answer.trace) if shown and answer.trace else ()
    if ask.body and not connection.as_json:
        # Into a pipe goes the body and not a byte more.
        typer.echo(answer.prompt.rendered[0].body, nl=sys.stdout.isatty())
        return
    emit(connection, answer, PromptView(answer.prompt), budget_view(answer.prompt.budget_report, candidates))
    if shown:
        _notes(answer)


def _candidates(client: Client, trace: str) -> Sequence[Candidate]:
    return client.call(client.traces.GetTrace, GetTraceRequest(name=trace)).trace.candidates


def _request(ask: Ask) -> AssembleContextRequest:
    question = sys.stdin.read() if ask.question == "-" else ask.question
    turn_id = ask.turn_id or f"turn-{uuid.uuid4().hex[:12]}"
    request = AssembleContextRequest(
        session=SessionRef(tenant_id=ask.tenant, user_id=ask.user, session_id=ask.session),
        turn=Turn(turn_id=turn_id, role=Role.ROLE_USER, contents=[Content(text=question)]),
        material=[_material(path) for path in ask.material],
        policy=ask.policy,
        formats=[BODIES[ask.body]] if ask.body else [],
        time_zone=ask.time_zone,
        validate_only=ask.dry_run,
    )
    if ask.model:
        provider, _, model = ask.model.partition("/")
        request.model.CopyFrom(ModelProfile(provider=provider, model=model))
    if ask.max_tokens is not None:
        request.budget.CopyFrom(Budget(max_input_tokens=ask.max_tokens))
    return request


def _material(path: Path) -> Material:
    try:
        return Material(text=path.read_text(encoding="utf-8"), title=path.name, source=f"file {path.name}")
    except UnicodeDecodeError:
        fail(f"{path} is not UTF-8 text: convert it first", ExitCode.INVALID)


def _notes(answer: AssembleContextResponse) -> None:
    out = console()
    for short in answer.degradations:
        out.print(f"short of something: {section_name(short.section).lower()}: {visible(short.detail)}")
    for warning in answer.warnings:
        out.print(f"note: {visible(warning)}")
    out.print(f"policy {answer.policy_revision}", soft_wrap=True)
    out.print(f"trace {answer.trace or '(none: dry run)'}", soft_wrap=True)
