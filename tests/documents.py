"""The documents of the repository, taken apart for the tests that hold them to the code."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])

CODE = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"(?:\.venv/bin/)?muniment (?!is )[a-z]")

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def blocks(document: Path, kind: str) -> list[str]:
    """The bodies of the fenced blocks of a kind."""
    return [m["body"] for m in BLOCK.finditer(document.read_text("utf-8")) if m["kind"] == kind]


def prose(document: Path) -> str:
    """The text without its fenced blocks."""
    return BLOCK.sub("", document.read_text("utf-8"))


def anchors(document: Path) -> set[str]:
    """The anchors that a host of Markdown makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", prose(document), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(script: str) -> Iterator[list[str]]:
    """The commands of a block, each as its words; a quoted text may go over lines."""
    pending = ""
    for line in script.splitlines():
        pending += line
        try:
            words = shlex.split(pending, comments=True)
        except ValueError:
            pending += "\n"
            continue
        if line.endswith("\\"):
            pending = pending[:-1]
            continue
        pending = ""
        if words:
            yield words
    assert not pending, f"the block ends in the middle of {pending!r}"


def shell_commands(document: Path) -> list[list[str]]:
    """All commands of a document: of its blocks, and of the text where they stand in backticks."""
    found = [words for block in blocks(document, "sh") for words in commands(block)]
    found += [shlex.split(code) for code in CODE.findall(prose(document)) if _COMMAND.match(code)]
    return found


def table_cells(document: Path, heading: str) -> list[str]:
    """The codes of the first column of the table under a heading."""
    _, _, after = prose(document).partition(f"{heading}\n")
    rows = re.findall(r"^\| `([^`]+)`", after.partition("\n## ")[0], re.MULTILINE)
    assert rows, heading
    return rows
