"""Figures: rows with a value, a unit and perhaps a bar; written as JSON and shown as the same table."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeAlias

OUT = Path(__file__).parent / "out"
"""Where results go; not committed."""

Row: TypeAlias = dict[str, "str | float | bool | None"]

_DIGITS = 3


class Side(Enum):
    """Which side of its bar a value must be on."""

    AT_MOST = "<="
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure must reach. Fixed in the code: a run never changes it."""

    side: Side
    value: float

    def holds(self, value: float) -> bool:
        """Whether a value reaches it."""
        return value <= self.value if self.side is Side.AT_MOST else value >= self.value

    def __str__(self) -> str:
        return f"{self.side.value} {self.value:g}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. `bar` None: it is reported only."""

    name: str
    value: float
    unit: str
    bar: Bar | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the bar is reached; None without one. What is written is what is judged: the rounded value."""
        return None if self.bar is None else self.bar.holds(self.rounded)

    @property
    def rounded(self) -> float:
        """The value as it is written."""
        return round(self.value, _DIGITS)

    def row(self) -> Row:
        """The figure as a row of the file."""
        bar = None if self.bar is None else self.bar.value
        return {
            "figure": self.name,
            "value": self.rounded,
            "unit": self.unit,
            "bar": bar,
            "holds": self.holds,
        }


def publish(figures: Sequence[Figure], name: str, folder: Path = OUT) -> None:
    """Write `NAME.json` and print the same as a table, what falls short last."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps([figure.row() for figure in figures], indent=1) + "\n", encoding="utf-8")
    print(table(figures))
    print(f"written to {path}")
    print(shortfalls(figures))


def table(figures: Sequence[Figure]) -> str:
    """The rows, aligned."""
    head = ("figure", "value", "unit", "bar", "holds")
    rows = [head, *(_cells(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(_line(row, widths) for row in rows)


def shortfalls(figures: Sequence[Figure]) -> str:
    """What does not reach its bar, in words."""
    short = [figure for figure in figures if figure.holds is False]
    if not short:
        return "every bar holds"
    lines = [f"  {f.name}: {f.rounded:g} {f.unit}, the bar is {f.bar}" for f in short]
    return "\n".join(["falls short:", *lines])


def _cells(figure: Figure) -> tuple[str, str, str, str, str]:
    holds = {None: "", True: "yes", False: "no"}[figure.holds]
    return figure.name, f"{figure.rounded:g}", figure.unit, str(figure.bar or ""), holds


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Padded cells; the value, which is second, stands to the right."""
    cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
    cells[1] = row[1].rjust(widths[1])
    return "  ".join(cells).rstrip()
