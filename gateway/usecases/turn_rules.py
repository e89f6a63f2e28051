"""What a turn may hold by its role, and what counts as blank, wherever texts come in."""

from assemblers.records import Content, Role, Text, ToolCall, ToolResult, Turn
from assemblers.text.hidden import strip_hidden
from gateway.errors import InvalidArgument

_ALLOWED: dict[Role, tuple[type[Content], ...]] = {
    Role.ASSISTANT: (Text, ToolCall),
    Role.TOOL: (ToolResult,),
}
_IN_WORDS = {Role.ASSISTANT: "texts and tool calls", Role.TOOL: "tool results"}


def content_bytes(turn: Turn) -> int:
    """The bytes of what a turn says, without its ids."""
    return sum(len(_said(content).encode()) for content in turn.contents)


def _said(content: Content) -> str:
    if isinstance(content, Text):
        return content.text
    return content.arguments_json if isinstance(content, ToolCall) else content.result_json


def check_contents(turn: Turn, field: str) -> None:
    """Raises InvalidArgument for a content that the role cannot say. `field` is the turn's path in the request."""
    allowed = _ALLOWED.get(turn.role, (Text,))
    for index, content in enumerate(turn.contents):
        if not isinstance(content, allowed):
            words = _IN_WORDS.get(turn.role, "texts")
            raise InvalidArgument.of(
                f"{field}.contents[{index}]",
                f"does not fit the role: a turn of role {turn.role} holds {words} only",
            )


def has_visible(text: str) -> bool:
    """Whether a reader would see anything: white space, controls and invisible characters alone are blank."""
    first = text[:1]
    # Nothing hidden begins with a letter or digit, so most texts need no search.
    if first.isascii() and first.isalnum():
        return True
    return any(c.isprintable() and not c.isspace() for c in strip_hidden(text)[0])
