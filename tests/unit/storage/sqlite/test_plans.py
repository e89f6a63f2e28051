"""Query plans: every statement finds its rows by an index, so that nothing grows with other users' data."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import storage.sql
import storage.sqlite
from storage.conformance.samples import NOW, USER
from storage.ports import FactSelector, TraceSelector
from storage.sql import fact_retiring, fact_rows, retention, trace_rows
from storage.sqlite import open_sqlite


def modules() -> Iterator[str]:
    for package in (storage.sql, storage.sqlite):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if not module.ispkg:
                yield module.name


def statements() -> Iterator[tuple[str, str]]:
    """Every statement that is a constant of a module of the stores and of the adapter, by its place."""
    for place in modules():
        for name, value in vars(importlib.import_module(place)).items():
            if (
                isinstance(value, str)
                and "{" not in value
                and re.match(r"(SELECT|UPDATE|DELETE|INSERT) .*\bWHERE\b", value, re.DOTALL)
            ):
                yield f"{place}.{name}", value


def built() -> Iterator[tuple[str, str]]:
    """The statements that selectors make, with nothing but the tenant and the user, and with all they can say; those
    that take many facts out of use, and those that remove what has expired."""
    for selector in (FactSelector(), FactSelector(1, None, "k", "s", "w", NOW, NOW, include_retired=True)):
        where, _ = fact_rows.conditions(USER, selector)
        yield "facts", f"SELECT no FROM facts WHERE {where} AND no > ? ORDER BY no LIMIT ?"
    for retire in fact_retiring.statements((1, 2, 3)):
        yield "retire facts", retire
    for sweep in retention.STATEMENTS:
        yield "retention", sweep
    for wanted in (TraceSelector(), TraceSelector("u", "s", "t", "p", NOW, NOW)):
        where, _ = trace_rows.conditions("acme", wanted)
        yield "traces", f"SELECT 1 FROM traces WHERE {where} AND sequence < ? ORDER BY sequence DESC LIMIT ?"


@pytest.mark.parametrize(("_place", "statement"), [*statements(), *built()])
async def test_a_statement_searches_and_never_scans(tmp_path: Path, _place: str, statement: str) -> None:
    async with await open_sqlite(tmp_path) as opened:
        numbered = [int(number) for number in re.findall(r"\?(\d+)", statement)]
        parameters = [None] * (max(numbered) if numbered else statement.count("?"))
        rows = opened._connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
    steps = [row[3] for row in rows]
    assert steps or statement.startswith("INSERT")
    assert not [step for step in steps if step.startswith("SCAN") and "CONSTANT" not in step], steps
    # Sorting is a step that lets nobody else run: what has to be in order comes so from an index.
    assert not [step for step in steps if "TEMP B-TREE" in step], steps
    assert len(list(statements())) > 25
