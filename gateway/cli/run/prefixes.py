"""`prefix`: system texts and tools, the same bytes for every call."""

import json
from pathlib import Path

from rich.text import Text

from gateway.cli.exits import ExitCode
from gateway.cli.options import Connection
from gateway.cli.run import references
from gateway.cli.run.output import calling, emit, fail
from gateway.cli.show.tables import prefixes_table
from gateway.cli.show.visible import visible
from muniment.v1.prefix_pb2 import (
    GetPrefixRevisionRequest,
    ListPrefixRevisionsRequest,
    PrefixRevision,
    RegisterPrefixRevisionRequest,
)
from muniment.v1.types_pb2 import ToolDefinition


def register(
    connection: Connection,
    tenant: str,
    prefix_id: str,
    text: Path | None,
    tools: Path | None,
    allowed: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Store a revision from a text file and a JSON file with a list of tools."""
    request = RegisterPrefixRevisionRequest(
        tenant_id=tenant,
        prefix_id=prefix_id,
        text=_text(text) if text is not None else "",
        tools=_tools(tools) if tools is not None else [],
        allowed_patterns=allowed,
        validate_only=dry_run,
    )
    with calling(connection) as client:
        answer = client.call(client.prefixes.RegisterPrefixRevision, request)
    emit(connection, answer, Text(answer.revision.name))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        fail(f"{path} is not UTF-8 text: convert it first", ExitCode.INVALID)


def _tools(path: Path) -> list[ToolDefinition]:
    """A list of objects with `name`; what else they have is the definition."""
    try:
        tools = json.loads(_text(path))
        return [
            ToolDefinition(
                name=tool.pop("name"), definition_json=json.dumps(tool, ensure_ascii=False).encode()
            )
            for tool in tools
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        fail(
            f'{path} is no list of tools: write [{{"name": …, "description": …, "parameters": {{…}}}}]',
            ExitCode.INVALID,
        )


def list_prefixes(connection: Connection, tenant: str, reference: str, limit: int) -> None:
    """The revisions of a prefix, newest first."""
    with calling(connection) as client:
        request = ListPrefixRevisionsRequest(
            prefix=references.prefix_name(reference, tenant), page_size=limit
        )
        answer = client.call(client.prefixes.ListPrefixRevisions, request)
    emit(connection, answer, prefixes_table(answer.revisions))


def show(connection: Connection, tenant: str, reference: str) -> None:
    """A revision with its text and tools; of a prefix the newest."""
    with calling(connection) as client:
        request = GetPrefixRevisionRequest(name=references.prefix_name(reference, tenant))
        answer = client.call(client.prefixes.GetPrefixRevision, request)
    emit(connection, answer, Text(_shown(answer.revision)))


def _shown(revision: PrefixRevision) -> str:
    tools = [f"{tool.name} {tool.definition_json.decode()}" for tool in revision.tools]
    return visible("\n".join([f"# {revision.name}", *tools, revision.text]), keep_lines=True)
