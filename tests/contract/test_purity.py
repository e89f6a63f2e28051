"""The core imports what its architecture allows, and reads no clock.

Sharper than the import contracts, which can only forbid what somebody thought of.
"""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = sorted((ROOT / "assemblers").rglob("*.py"))
THIRD_PARTY = {"numpy", "snowballstemmer", "regex"}
# fmt: off
IMPURE = {
    "asyncio", "atexit", "concurrent", "contextvars", "glob", "http", "io", "locale", "logging", "os",
    "pathlib", "platform", "random", "secrets", "select", "selectors", "shutil", "signal", "socket",
    "sqlite3", "ssl", "multiprocessing", "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}
# fmt: on
PURE_PARTS = {"urllib.parse"}
CLOCKS = {"now", "utcnow", "today", "monotonic", "perf_counter"}
OF_SYS = {"getsizeof", "maxsize", "maxunicode"}


def imported(tree: ast.Module) -> set[str]:
    """The top-level names of the modules that are imported, anywhere in the file; submodules that are pure are none."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module not in PURE_PARTS:
            names.add(node.module.partition(".")[0])
    return names


@pytest.fixture(params=CORE, ids=[str(p.relative_to(ROOT)) for p in CORE])
def tree(request) -> ast.Module:
    source: Path = request.param
    return ast.parse(source.read_text(encoding="utf-8"))


def test_only_allowed_modules_are_imported(tree):
    allowed = (set(sys.stdlib_module_names) - IMPURE) | THIRD_PARTY | {"assemblers"}
    assert imported(tree) - allowed == set()


def test_no_clock_is_read(tree):
    calls = [
        n.func.attr for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
    ]
    assert [c for c in calls if c in CLOCKS] == []


def test_sys_tells_sizes_only(tree):
    """The rest of `sys` is the process's own state: arguments, streams, paths."""
    used = {
        n.attr
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "sys"
    }
    assert used - OF_SYS == set()


def test_nothing_is_printed_or_opened(tree):
    calls = [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    assert [c for c in calls if c in {"print", "open", "input", "eval", "exec"}] == []


def test_order_does_not_depend_on_the_hash_seed(tree):
    """`hash()` of a text differs from process to process; an order or a choice made from it would too."""
    calls = [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    assert "hash" not in calls
