"""A prompt, line by line, each with the item that it comes from."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.table import Table
from rich.text import Text

from gateway.cli.show.palette import legend, section_style
from gateway.cli.show.visible import shortened, visible
from muniment.v1.prompt_pb2 import Part, Prompt, PromptTool
from muniment.v1.types_pb2 import Role, SectionKind, Span

GUTTER = 26
"""Columns for the item's id: enough for `policy/history.heading`, and for the rest what tells it from others."""

SESSION_ITEM, SESSION_SHOWN = "archived-session/", "session/"
"""What the ids of archived sessions' date lines begin with, and what people see and may type for that."""

_LEAST_GUTTER = 12
_SHOWN_TOOL_CHARACTERS = 160
_DIM = Style(dim=True)


@dataclass(frozen=True, slots=True)
class Run:
    """A run of text of one item within one line."""

    item_id: str
    text: str


def part_bytes(part: Part) -> bytes:
    """The bytes that a part's spans count: a text, or a tool's name and the JSON after it."""
    content = part.content
    if content.HasField("tool_call"):
        return (content.tool_call.tool_name + content.tool_call.arguments_json).encode()
    if content.HasField("tool_result"):
        return (content.tool_result.tool_name + content.tool_result.result_json).encode()
    return content.text.encode()


def lines_of(data: bytes, spans: list[Span]) -> Iterator[list[Run]]:
    """The lines of a part, each as its runs. Spans may cross lines, and lines spans."""
    line: list[Run] = []
    for span in spans:
        text = data[span.offset : span.offset + span.length].decode(errors="replace")
        for piece in text.splitlines(keepends=True) if "\n" in text else [text]:
            line.append(Run(span.item_id, piece.removesuffix("\n")))
            if piece.endswith("\n"):
                yield line
                line = []
    if line:
        yield line


@dataclass(frozen=True, slots=True)
class PromptView:
    """The whole prompt with its legend."""

    prompt: Prompt

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The legend, the tools, then the messages in order."""
        gutter = max(_LEAST_GUTTER, min(GUTTER, options.max_width // 3))
        yield legend()
        if self.prompt.tools:
            yield _heading("TOOLS", "")
            yield _tools(list(self.prompt.tools), gutter)
        for message in self.prompt.messages:
            tokens = sum(part.token_count for part in message.parts)
            yield _heading(Role.Name(message.role).removeprefix("ROLE_"), f"{tokens} tokens")
            yield _parts(list(message.parts), gutter)


def _heading(title: str, note: str) -> Text:
    return Text.assemble("\n", (f" {title} ", "reverse bold"), (f"  {note}", "dim"))


def _grid(gutter: int) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=gutter, no_wrap=True, justify="right")
    grid.add_column(width=1)
    grid.add_column(overflow="fold", ratio=1)
    return grid


def _tools(tools: list[PromptTool], gutter: int) -> Table:
    grid = _grid(gutter)
    style = section_style(SectionKind.SECTION_KIND_PREFIX)
    for tool in tools:
        item_id = tool.spans[0].item_id if tool.spans else ""
        definition = visible(tool.definition_json.decode(errors="replace"))
        if len(definition) > _SHOWN_TOOL_CHARACTERS:
            definition = f"{definition[:_SHOWN_TOOL_CHARACTERS]}…"
        grid.add_row(Text(shortened(item_id, gutter), "dim"), "│", Text(definition, style))
    return grid


def _parts(parts: list[Part], gutter: int) -> Table:
    grid = _grid(gutter)
    above = ""
    for part in parts:
        for line in lines_of(part_bytes(part), list(part.spans)):
            items = _items(line)
            label = "" if items == above else label_of(items, gutter)
            style = section_style(part.section)
            grid.add_row(Text(label, style + _DIM), Text("│", style), _line(line, part))
            above = items
    return grid


def label_of(items: str, width: int) -> str:
    """What stands left of a line. Of an archived session that is its id, or the end of it: ids differ there."""
    if not items.startswith(SESSION_ITEM):
        return shortened(items, width)
    session_id = visible(items.removeprefix(SESSION_ITEM))
    room = width - len(SESSION_SHOWN)
    if len(session_id) > room:
        session_id = f"…{session_id[1 - room :]}"
    return f"{SESSION_SHOWN}{session_id}"


def _items(line: list[Run]) -> str:
    """The items of a line; beside another one, a text of the policy is named by its last word."""
    found = list(dict.fromkeys(run.item_id for run in line))
    if len(found) > 1:
        found = [item.rpartition(".")[2] if item.startswith("policy/") else item for item in found]
    return " + ".join(found)


def _line(line: list[Run], part: Part) -> Text:
    text = Text()
    for run in line:
        text.append(visible(run.text), section_style(part.section, run.item_id))
    return text
