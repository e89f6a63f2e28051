"""Plain text: a label line for each message, its text below; for completion models and for reading.

    Tools:
    - lookup_invoice{"description":"…"}
    System:
    You answer questions on invoices.
    User:
    …
    Assistant:
    - call c1: lookup_invoice{"id":"INV-7"}
    Tool:
    - result c1: lookup_invoice{"state":"paid"}

Label lines start with a letter and end in one line feed, as the additive counting of lines asks for. What a
user writes is never altered, so only the question itself could imitate a label.
"""

from collections.abc import Sequence

from assemblers.assembly import Breakpoint, Message, Rendered, RenderedPart
from assemblers.formats.parts import sent_parts
from assemblers.records import Content, PrefixRevision, Role, Text, ToolCall

LABELS = {
    Role.SYSTEM: "System:\n",
    Role.DEVELOPER: "Developer:\n",
    Role.USER: "User:\n",
    Role.ASSISTANT: "Assistant:\n",
    Role.TOOL: "Tool:\n",
}
TOOLS_LABEL = "Tools:\n"


class _Sheet:
    """A text in the making, which knows how many bytes it has."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.size = 0
        self.ends_line = True

    def add(self, text: str) -> int:
        """Appends, and gives the offset of the first byte."""
        start = self.size
        self.pieces.append(text)
        self.size += len(text) if text.isascii() else len(text.encode())
        self.ends_line = text.endswith("\n")
        return start

    def end_line(self) -> None:
        """Makes sure that what follows starts a line."""
        if not self.ends_line:
            self.add("\n")


def render(
    messages: Sequence[Message], prefix: PrefixRevision | None, breakpoints: Sequence[Breakpoint] = ()
) -> Rendered:
    """The messages as text. Breakpoints are not shown: plain text has nowhere to put them."""
    del breakpoints
    sheet = _Sheet()
    places = _add_tools(sheet, prefix)
    for number, message in enumerate(messages):
        places += _add_message(sheet, number, message)
    return Rendered("".join(sheet.pieces).encode(), tuple(places))


def sent_messages(messages: Sequence[Message]) -> int:
    """How many label lines of messages there are."""
    return sum(1 for message in messages if any(True for _ in sent_parts(message)))


def _add_tools(sheet: _Sheet, prefix: PrefixRevision | None) -> list[RenderedPart]:
    if prefix is None or not prefix.tools:
        return []
    sheet.add(TOOLS_LABEL)
    places = []
    for index, tool in enumerate(prefix.tools):
        sheet.add(f"- {tool.name}")
        places.append(RenderedPart(None, index, "", sheet.add(tool.definition_json)))
        sheet.add("\n")
    return places


def _add_message(sheet: _Sheet, number: int, message: Message) -> list[RenderedPart]:
    parts = list(sent_parts(message))
    if not parts:
        return []
    sheet.add(LABELS[message.role])
    places = []
    for index, part in parts:
        offset = _add_content(sheet, part.content)
        places.append(RenderedPart(number, index, "", offset))
    sheet.end_line()
    return places


def _add_content(sheet: _Sheet, content: Content) -> int:
    """The offset of the content's own first byte, behind what introduces it."""
    if isinstance(content, Text):
        return sheet.add(content.text)
    sheet.end_line()
    if isinstance(content, ToolCall):
        sheet.add(f"- call {content.call_id}: ")
        own = content.tool_name + content.arguments_json
    else:
        sheet.add(f"- {'error' if content.is_error else 'result'} {content.call_id}: ")
        own = content.tool_name + content.result_json
    offset = sheet.add(own)
    sheet.add("\n")
    return offset
