"""Finds in a prefix what would change from call to call, and with it lose the provider's cache for everybody."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from assemblers.dynamic_patterns import PATTERNS
from assemblers.records import ToolDefinition
from assemblers.text import inline, shorten

PATTERN_NAMES = tuple(PATTERNS)
"""What can be allowed: `date`, `time`, `uuid`, `email`, `template`."""

MAX_FINDINGS = 20
"""How many findings are told at once; who has more has one cause."""

_SNIPPET_CHARACTERS = 60

_IN_WORDS = {"uuid": "a UUID", "email": "an e-mail address", "template": "a template's hole"}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that looks dynamic. `pattern` is the name that would allow it, `field` where it stands.

    `offset` counts characters from 0, line and column from 1, all within the text; for a tool within the string of
    its definition that the JSON Pointer in `field` names: `tools[0].definition_json#/description`.
    """

    pattern: str
    field: str
    offset: int
    line: int
    column: int
    snippet: str

    @property
    def in_words(self) -> str:
        """What it looks like, with its article."""
        return _IN_WORDS.get(self.pattern, f"a {self.pattern}")

    def __str__(self) -> str:
        place = f"{self.field}, line {self.line}, column {self.column}"
        return f"{place}: {self.snippet!r} looks like {self.in_words}: take it out, or allow {self.pattern!r}"


def find_dynamic(text: str, allowed: Collection[str] = (), field: str = "text") -> tuple[Finding, ...]:
    """What looks dynamic in a text, in its order, except the patterns that are allowed by name."""
    found = sorted(
        (match.start(), name, match.group())
        for name, pattern in PATTERNS.items()
        if name not in allowed
        for match in pattern.finditer(text)
    )
    return tuple(_finding(text, field, *item) for item in found[:MAX_FINDINGS])


def find_dynamic_in_prefix(
    text: str, tools: Sequence[ToolDefinition], allowed: Collection[str] = ()
) -> tuple[Finding, ...]:
    """What looks dynamic in a prefix: in its text, and in every string of its tools' definitions.

    ValueError where a definition is no JSON.
    """
    found = list(find_dynamic(text, allowed))
    for index, tool in enumerate(tools):
        for pointer, string in _strings(json.loads(tool.definition_json), ""):
            found += find_dynamic(string, allowed, f"tools[{index}].definition_json#{pointer}")
    return tuple(found[:MAX_FINDINGS])


def _finding(text: str, field: str, offset: int, name: str, matched: str) -> Finding:
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return Finding(name, field, offset, line, column, shorten(inline(matched), _SNIPPET_CHARACTERS))


def _strings(value: object, pointer: str) -> Iterator[tuple[str, str]]:
    """The strings of a JSON value, names of members included, each with its pointer."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strings(item, f"{pointer}/{index}")
    elif isinstance(value, dict):
        for name, item in value.items():
            below = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            yield below, name
            yield from _strings(item, below)
