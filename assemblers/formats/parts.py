"""What the formats share: which parts are sent, and whether every call has its result."""

from collections.abc import Iterator, Sequence

from assemblers.assembly import Message, Part
from assemblers.formats.errors import UnrenderablePromptError
from assemblers.records import Content, Role, Text, ToolCall, ToolResult


def sent_parts(message: Message) -> Iterator[tuple[int, Part]]:
    """The parts that a provider gets, with their index. Blank text goes: some providers refuse it."""
    for index, part in enumerate(message.parts):
        if not isinstance(part.content, Text) or part.content.text.strip():
            yield index, part


def check_pairs(format_name: str, messages: Sequence[Message]) -> None:
    """UnrenderablePromptError where a result has no call, or a call no result before the next message.

    Calls at the end may be open: their results are what the caller is about to add.
    """
    open_calls: dict[str, str] = {}
    for number, message in enumerate(messages):
        parts = list(sent_parts(message))
        if parts and open_calls and message.role is not Role.TOOL:
            problem = "is a call without its result: record the result before the next message"
            raise UnrenderablePromptError(format_name, next(iter(open_calls.values())), problem)
        for index, part in parts:
            _follow(format_name, open_calls, part.content, f"messages[{number}].parts[{index}]")


def _follow(format_name: str, open_calls: dict[str, str], content: Content, place: str) -> None:
    if isinstance(content, ToolCall):
        open_calls[content.call_id] = place
    elif isinstance(content, ToolResult) and open_calls.pop(content.call_id, None) is None:
        problem = "is a result without its call: send the call's turn before it"
        raise UnrenderablePromptError(format_name, place, problem)
