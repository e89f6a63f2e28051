"""OpenAI chat completions: `messages` and `tools` of the request body.

The text parts of a message are one string, joined without a separator as in the neutral messages: every
compatible server takes a string, not every one a list. Roles go out as they are; the provider itself takes
`system` for `developer` where a model knows only one. A text among tools' results has no place in this
format: it follows them as the user's, and a note says so. Nor has a tool's error: its JSON is sent as any
result's. Breakpoints are not written, since caching is automatic on the exact prefix.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from assemblers.assembly import Breakpoint, Message, PromptFormat, Rendered, RenderedPart
from assemblers.formats.errors import UnrenderablePromptError
from assemblers.formats.json_text import Json, Verbatim, read_members, write
from assemblers.formats.parts import check_pairs, sent_parts
from assemblers.records import Content, PrefixRevision, Role, Text, ToolCall, ToolDefinition, ToolResult

_FORMAT = PromptFormat.OPENAI_CHAT.value


@dataclass(slots=True)
class _Draft:
    """The messages in the making. `held` are texts of tools, until the last result of the run is out."""

    sent: list[Json] = field(default_factory=list)
    places: list[RenderedPart] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    held: list[tuple[int, int, Content]] = field(default_factory=list)


def render(
    messages: Sequence[Message], prefix: PrefixRevision | None, breakpoints: Sequence[Breakpoint] = ()
) -> Rendered:
    """The body and the places in it. UnrenderablePromptError where a call and its results do not match."""
    del breakpoints
    check_pairs(_FORMAT, messages)
    draft = _draft(messages)
    tools = prefix.tools if prefix else ()
    body: dict[str, Json] = {"tools": _tools(tools)} if tools else {}
    body["messages"] = draft.sent
    tool_places = (RenderedPart(None, index, f"/tools/{index}", 0) for index in range(len(tools)))
    return Rendered(write(body).encode(), (*draft.places, *tool_places), tuple(draft.notes))


def sent_messages(messages: Sequence[Message]) -> int:
    """How many messages go out: each result is one of its own, one without anything visible is none."""
    return len(_draft(messages).sent)


def _draft(messages: Sequence[Message]) -> _Draft:
    draft = _Draft()
    for number, message in enumerate(messages):
        contents = [(number, index, part.content) for index, part in sent_parts(message)]
        if contents and message.role is Role.TOOL:
            _add_results(draft, contents)
        elif contents:
            _release(draft)
            _add_spoken(draft, message.role, contents)
    _release(draft)
    return draft


def _add_results(draft: _Draft, contents: list[tuple[int, int, Content]]) -> None:
    for number, index, content in contents:
        if not isinstance(content, ToolResult):
            draft.held.append((number, index, content))
            continue
        draft.places.append(RenderedPart(number, index, f"/messages/{len(draft.sent)}", 0))
        draft.sent.append({"role": "tool", "tool_call_id": content.call_id, "content": content.result_json})


def _release(draft: _Draft) -> None:
    if not draft.held:
        return
    draft.notes += [f"messages[{n}].parts[{i}]: a tool's text is sent as USER" for n, i, _ in draft.held]
    _add_spoken(draft, Role.USER, draft.held)
    draft.held = []


def _add_spoken(draft: _Draft, role: Role, contents: list[tuple[int, int, Content]]) -> None:
    at = f"/messages/{len(draft.sent)}"
    texts: list[str] = []
    calls: list[Json] = []
    size = 0
    for number, index, content in contents:
        if isinstance(content, ToolCall):
            draft.places.append(RenderedPart(number, index, f"{at}/tool_calls/{len(calls)}", 0))
            calls.append(_call(content))
        elif isinstance(content, Text):
            draft.places.append(RenderedPart(number, index, f"{at}/content", size))
            texts.append(content.text)
            size += len(content.text.encode())
    message: dict[str, Json] = {"role": role.lower(), "content": "".join(texts) if texts else None}
    draft.sent.append({**message, "tool_calls": calls} if calls else message)


def _call(call: ToolCall) -> Json:
    function = {"name": call.tool_name, "arguments": call.arguments_json}
    return {"id": call.call_id, "type": "function", "function": function}


# Pure, and the same tools come with every call. Bounded, since definitions may be large.
@lru_cache(maxsize=64)
def _tools(tools: tuple[ToolDefinition, ...]) -> Verbatim:
    return Verbatim(
        write([{"type": "function", "function": _function(i, tool)} for i, tool in enumerate(tools)])
    )


def _function(index: int, tool: ToolDefinition) -> Json:
    members = read_members(tool.definition_json)
    if members is None:
        raise UnrenderablePromptError(_FORMAT, f"tools[{index}].definition_json", "is no JSON object")
    return {"name": tool.name, **{name: value for name, value in members.items() if name != "name"}}
