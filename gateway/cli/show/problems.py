"""What went wrong, and the remedy: the server's rich status in words, and a policy's faults where they stand."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.text import Text

from gateway.cli.show.palette import section_name
from gateway.cli.show.visible import visible
from gateway.client import CallError
from muniment.v1.errors_pb2 import BudgetNeeds, Diagnostic

_SHOWN_LINE = 100


@dataclass(frozen=True, slots=True)
class Source:
    """A policy's text and the name of its file, to show diagnostics where they stand."""

    file: str
    text: str

    def line(self, number: int) -> str:
        """The line with this number, from 1; empty where there is none."""
        lines = self.text.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""


def problem_lines(error: CallError, source: Source | None = None) -> Iterator[Text]:
    """The error in words: message, fields, needs, diagnostics, and when to try again."""
    # Of a policy's faults the message quotes the first, which stands below with all the others.
    message = error.message.partition(":")[0] if error.diagnostics else error.message
    yield Text.assemble(("error", "bold red"), f": {visible(message)}")
    if error.diagnostics:
        yield from diagnostic_lines(error.diagnostics, source)
    else:
        yield from _fields(error)
    if error.needs is not None:
        yield from _needs(error.needs)
    if error.retry_seconds is not None:
        yield Text(f"  try again in {error.retry_seconds:g} s")
    if error.metadata.get("incident"):
        yield Text(f"  the server's log holds it under incident {error.metadata['incident']}")


def _fields(error: CallError) -> Iterator[Text]:
    for problem in error.problems:
        line = f"{problem.field}: {problem.remedy}" if problem.field else problem.remedy
        # The server's message is often the first violation; saying it twice helps nobody.
        if problem.remedy not in error.message:
            yield Text(f"  {visible(line)}")


def _needs(needs: BudgetNeeds) -> Iterator[Text]:
    for need in needs.needs:
        yield Text(f"  {need.tokens:>7} tokens  {section_name(need.section).lower()}: {visible(need.what)}")
    yield Text(f"  {needs.needed_tokens:>7} tokens  needed of {needs.limit_tokens}", "bold")


def diagnostic_lines(diagnostics: Iterable[Diagnostic], source: Source | None = None) -> Iterator[Text]:
    """Each diagnostic with its place and, where the text is at hand, the line and a caret under the column."""
    for found in diagnostics:
        yield _diagnostic(found, source)
        if source is not None and found.line:
            yield from _excerpt(source.line(found.line), found.column)
        if found.suggestion:
            yield Text(f"    → {visible(found.suggestion)}")


def _diagnostic(found: Diagnostic, source: Source | None) -> Text:
    is_error = found.severity == Diagnostic.SEVERITY_ERROR
    place = f"{source.file if source is not None else ''}:{found.line}:{found.column}" if found.line else ""
    text = Text(f"{place}: " if place else "")
    text.append("error" if is_error else "warning", "bold red" if is_error else "bold yellow")
    text.append(f": {visible(found.field)}: " if found.field else ": ")
    text.append(visible(found.message))
    text.append(f" [{found.rule_id}]" if found.rule_id else "", "dim")
    return text


def _excerpt(line: str, column: int) -> Iterator[Text]:
    """The line and a caret; of a long line what surrounds the column."""
    start = max(0, column - 1 - _SHOWN_LINE // 2) if len(line) > _SHOWN_LINE else 0
    yield Text(f"    {visible(line[start : start + _SHOWN_LINE])}", "dim")
    before = visible(line[start : max(column - 1, 0)])
    yield Text(f"    {' ' * Text(before).cell_len}^", "bold red")
