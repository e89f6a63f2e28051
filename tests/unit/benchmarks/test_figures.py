"""Figures: rows say whether a bar holds, and what falls short comes last."""

import json
from pathlib import Path

import pytest

from benchmarks.figures import Bar, Figure, Side, publish, shortfalls, table

SLOW = Figure("p50_ratio_1", 2.6004, "x echo", Bar(Side.AT_MOST, 2.5))
FAST = Figure("rate_ratio_16", 0.4, "x echo", Bar(Side.AT_LEAST, 0.35))
PLAIN = Figure("answer_size", 12_000, "bytes")


@pytest.mark.parametrize(
    ("side", "value", "holds"),
    [
        (Side.AT_MOST, 2.5, True),
        (Side.AT_MOST, 2.501, False),
        (Side.AT_LEAST, 0.35, True),
        (Side.AT_LEAST, 0.349, False),
    ],
)
def test_a_bar_holds_on_its_side_and_where_it_is_met(side: Side, value: float, holds: bool) -> None:
    assert Figure("f", value, "", Bar(side, 2.5 if side is Side.AT_MOST else 0.35)).holds is holds


def test_a_row_has_the_five_fields_and_the_value_that_was_judged() -> None:
    assert SLOW.row() == {
        "figure": "p50_ratio_1", "value": 2.6, "unit": "x echo", "bar": 2.5, "holds": False,
    }  # fmt: skip


def test_a_figure_without_a_bar_neither_holds_nor_falls_short() -> None:
    assert PLAIN.row()["bar"] is None
    assert PLAIN.row()["holds"] is None
    assert shortfalls([PLAIN, FAST]) == "every bar holds"


def test_the_table_has_a_line_per_figure_with_its_bar_and_verdict() -> None:
    lines = table([SLOW, FAST, PLAIN]).splitlines()
    assert [line.split() for line in lines[:2]] == [
        ["figure", "value", "unit", "bar", "holds"],
        ["p50_ratio_1", "2.6", "x", "echo", "<=", "2.5", "no"],
    ]
    assert lines[3].split() == ["answer_size", "12000", "bytes"]


def test_publishing_writes_the_rows_and_says_last_what_falls_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish([SLOW, FAST, PLAIN], "some", tmp_path / "out")
    written = json.loads((tmp_path / "out" / "some.json").read_text())
    assert written == [SLOW.row(), FAST.row(), PLAIN.row()]
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "falls short:",
        "  p50_ratio_1: 2.6 x echo, the bar is <= 2.5",
    ]
