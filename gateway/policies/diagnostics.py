"""One thing wrong with a policy, with the place where its author wrote it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

ERROR = "ERROR"
WARNING = "WARNING"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """`field` is the path by the proto's names; line and column count from 1, 0 where the policy came as a message."""

    severity: str
    rule_id: str
    field: str
    message: str
    suggestion: str = ""
    line: int = 0
    column: int = 0


Place = tuple[int, int]
"""Line and column, from 1."""


def located(diagnostics: Iterable[Diagnostic], places: Mapping[str, Place]) -> tuple[Diagnostic, ...]:
    """The diagnostics with their places, in the order of the text. A field that was not written has its parent's."""
    placed = [d if d.line else _placed(d, places) for d in diagnostics]
    return tuple(sorted(placed, key=lambda d: (d.line, d.column, d.field, d.rule_id)))


def _placed(diagnostic: Diagnostic, places: Mapping[str, Place]) -> Diagnostic:
    path = diagnostic.field
    while path and path not in places:
        path = _parent(path)
    line, column = places.get(path, (0, 0))
    return replace(diagnostic, line=line, column=column)


def _parent(path: str) -> str:
    return path[: max(path.rfind("."), path.rfind("["), 0)]
