"""Anthropic messages: `tools`, `system` and `messages` of the request body, in the order of the cache.

System and developer messages at the head become system blocks. One after the first user message is sent as
user text, since hoisting it would put changing bytes before cached ones, and a note says so. Tools' results
are the user's turn, before its texts. Messages of one role behind each other are merged. Each part is a
block.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from assemblers.assembly import Breakpoint, Message, PromptFormat, Rendered, RenderedPart
from assemblers.formats.errors import UnrenderablePromptError
from assemblers.formats.json_text import Json, Verbatim, read_members, write
from assemblers.formats.parts import check_pairs, sent_parts
from assemblers.records import Content, PrefixRevision, Role, Text, ToolCall, ToolDefinition, ToolResult

MAX_BREAKPOINTS = 4
"""What the provider takes in one request."""

_FORMAT = PromptFormat.ANTHROPIC_MESSAGES.value
_NO_PARAMETERS = Verbatim('{"type":"object","properties":{}}')
_SYSTEM_ROLES = (Role.SYSTEM, Role.DEVELOPER)


@dataclass(slots=True)
class _Block:
    """A part on its way out. `ttl` is set where the cache is to reach."""

    message: int
    part: int
    content: Content
    ttl: str = ""


@dataclass(slots=True)
class _Plan:
    """What goes where, before any of it is JSON."""

    system: list[_Block] = field(default_factory=list)
    turns: list[tuple[str, list[_Block]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def render(
    messages: Sequence[Message], prefix: PrefixRevision | None, breakpoints: Sequence[Breakpoint] = ()
) -> Rendered:
    """The body, and where each part stands in it.

    At most four breakpoints are marked, each on the last block with content up to it, TTLs never increasing.
    UnrenderablePromptError where a call and its results do not match, or where the user does not speak first.
    """
    check_pairs(_FORMAT, messages)
    plan = _plan(messages)
    _check_opening(plan)
    tools = prefix.tools if prefix else ()
    tool_ttl = _mark(plan, breakpoints, bool(tools))
    body: dict[str, Json] = {"tools": _tools(tools, tool_ttl)} if tools else {}
    if plan.system:
        body["system"] = [_json(block) for block in plan.system]
    body["messages"] = [
        {"role": role, "content": [_json(block) for block in blocks]} for role, blocks in plan.turns
    ]
    places = [*_places(plan), *(RenderedPart(None, i, f"/tools/{i}", 0) for i in range(len(tools)))]
    return Rendered(write(body).encode(), tuple(places), tuple(plan.notes))


def sent_messages(messages: Sequence[Message]) -> int:
    """How many messages go out: the system text counts as one, messages of one role are merged."""
    plan = _plan(messages)
    return len(plan.turns) + bool(plan.system)


def _plan(messages: Sequence[Message]) -> _Plan:
    plan = _Plan()
    for number, message in enumerate(messages):
        blocks = [_Block(number, index, part.content) for index, part in sent_parts(message)]
        if not blocks:
            continue
        if message.role in _SYSTEM_ROLES and not plan.turns:
            plan.system += blocks
            continue
        if message.role in _SYSTEM_ROLES:
            plan.notes.append(
                f"messages[{number}]: {message.role} is sent as USER, behind the first user message"
            )
        _add_turn(plan, "assistant" if message.role is Role.ASSISTANT else "user", blocks)
    for role, blocks in plan.turns:
        if role == "user":
            # Results must come first in the turn that answers their calls; the sort keeps all else in order.
            blocks.sort(key=lambda block: not isinstance(block.content, ToolResult))
    return plan


def _check_opening(plan: _Plan) -> None:
    if plan.turns and plan.turns[0][0] != "user":
        problem = "is the assistant's: this format needs a user's message before it"
        raise UnrenderablePromptError(_FORMAT, f"messages[{plan.turns[0][1][0].message}]", problem)


def _add_turn(plan: _Plan, role: str, blocks: list[_Block]) -> None:
    if plan.turns and plan.turns[-1][0] == role:
        plan.turns[-1][1].extend(blocks)
    else:
        plan.turns.append((role, blocks))


def _mark(plan: _Plan, breakpoints: Sequence[Breakpoint], has_tools: bool) -> str:
    """Sets the TTLs of the blocks that end a cached stretch, and gives that of the last tool: "" for none."""
    blocks = [*plan.system, *(block for _, turn in plan.turns for block in turn)]
    tool_ttl, ceiling = "", ""
    for mark in sorted(breakpoints, key=lambda mark: (mark.message, mark.part))[:MAX_BREAKPOINTS]:
        ceiling = "5m" if "5m" in (ceiling, mark.ttl_class) else "1h"
        reached = [block for block in blocks if (block.message, block.part) <= (mark.message, mark.part)]
        if reached:
            reached[-1].ttl = reached[-1].ttl or ceiling
        elif has_tools:
            tool_ttl = tool_ttl or ceiling
    return tool_ttl


def _json(block: _Block) -> Json:
    made = _content(block)
    if block.ttl:
        made["cache_control"] = {"type": "ephemeral", "ttl": block.ttl}
    return made


def _content(block: _Block) -> dict[str, Json]:
    content = block.content
    if isinstance(content, Text):
        return {"type": "text", "text": content.text}
    if isinstance(content, ToolCall):
        if not content.arguments_json.startswith("{"):
            place = f"messages[{block.message}].parts[{block.part}]"
            raise UnrenderablePromptError(_FORMAT, place, "has arguments that are no JSON object")
        arguments = Verbatim(content.arguments_json)
        return {"type": "tool_use", "id": content.call_id, "name": content.tool_name, "input": arguments}
    made: dict[str, Json] = {
        "type": "tool_result",
        "tool_use_id": content.call_id,
        "content": content.result_json,
    }
    if content.is_error:
        made["is_error"] = True
    return made


def _places(plan: _Plan) -> list[RenderedPart]:
    places = [_place(block, f"/system/{at}") for at, block in enumerate(plan.system)]
    for number, (_, blocks) in enumerate(plan.turns):
        places += [_place(block, f"/messages/{number}/content/{at}") for at, block in enumerate(blocks)]
    return places


def _place(block: _Block, pointer: str) -> RenderedPart:
    whole = f"{pointer}/text" if isinstance(block.content, Text) else pointer
    return RenderedPart(block.message, block.part, whole, 0)


# Pure, and the same tools come with every call. Bounded, since definitions may be large.
@lru_cache(maxsize=64)
def _tools(tools: tuple[ToolDefinition, ...], ttl: str) -> Verbatim:
    made = [_tool(index, tool) for index, tool in enumerate(tools)]
    if ttl:
        made[-1]["cache_control"] = {"type": "ephemeral", "ttl": ttl}
    return Verbatim(write(made))


def _tool(index: int, tool: ToolDefinition) -> dict[str, Json]:
    members = read_members(tool.definition_json)
    if members is None:
        raise UnrenderablePromptError(_FORMAT, f"tools[{index}].definition_json", "is no JSON object")
    schema = members.pop("parameters", None) or members.pop("input_schema", None) or _NO_PARAMETERS
    others = {name: value for name, value in members.items() if name != "name"}
    return {"name": tool.name, **others, "input_schema": schema}
