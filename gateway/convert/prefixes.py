"""prefix.proto: prefixes to register in, revisions out."""

from assemblers.records import PrefixRevision, ToolDefinition
from gateway.convert.canonical import canonical, parse
from gateway.convert.instants import instant_to
from gateway.convert.types import tools_to
from gateway.errors import InvalidArgument
from gateway.names import prefix_name
from gateway.usecases.prefixes import PrefixDraft
from muniment.v1 import prefix_pb2, types_pb2


def draft_of(request: prefix_pb2.RegisterPrefixRevisionRequest) -> PrefixDraft:
    """The prefix to register, its tools' JSON made canonical. Raises InvalidArgument."""
    return PrefixDraft(
        tenant_id=request.tenant_id,
        prefix_id=request.prefix_id,
        text=request.text,
        tools=tuple(_tool_of(tool, f"tools[{index}]") for index, tool in enumerate(request.tools)),
        allowed_patterns=tuple(sorted(request.allowed_patterns)),
    )


def revision_to(revision: PrefixRevision, stored: bool = True) -> prefix_pb2.PrefixRevision:
    """The message of a revision; one that is not `stored` has no create time."""
    return prefix_pb2.PrefixRevision(
        name=prefix_name(revision.tenant_id, revision.prefix_id, revision.digest),
        prefix_id=revision.prefix_id,
        sha256=revision.digest,
        text=revision.text,
        tools=tools_to(revision.tools),
        allowed_patterns=revision.allowed_patterns,
        create_time=instant_to(revision.create_time) if stored else None,
    )


def _tool_of(message: types_pb2.ToolDefinition, field: str) -> ToolDefinition:
    """A tool. Its definition may repeat the name, and then must mean the same."""
    definition = parse(f"{field}.definition_json", message.definition_json)
    if not isinstance(definition, dict):
        raise InvalidArgument.of(f"{field}.definition_json", "is JSON, but not an object: wrap it in {}")
    if definition.get("name", message.name) != message.name:
        raise InvalidArgument.of(
            f"{field}.definition_json",
            f"names another tool than {field}.name: leave the name out of it, or repeat it",
        )
    return ToolDefinition(message.name, canonical(definition))
