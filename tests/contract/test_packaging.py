"""What a stranger installs: pinned, without hosts, with types and the contract's sources inside."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8")


def distribution(requirement: str) -> str:
    """The normalised name of what a requirement asks for."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def test_every_dependency_is_pinned_in_the_constraints():
    pinned = {distribution(line) for line in CONSTRAINTS.splitlines() if "==" in line}
    wanted = {distribution(r) for r in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"]}
    assert wanted - pinned == set()


def test_the_constraints_name_no_host():
    assert re.findall(r"https?:|index-url|find-links|@ ", CONSTRAINTS) == []


def test_dependencies_are_ranges():
    assert [r for r in PROJECT["dependencies"] if "==" in r.partition(";")[0]] == []


def test_the_licence_is_whole():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_every_package_says_that_it_is_typed():
    for package in ("assemblers", "storage", "gateway", "proto/muniment"):
        assert (ROOT / package / "py.typed").is_file(), package


def test_proto_is_no_package():
    """A package called `proto` would shadow proto-plus."""
    assert not (ROOT / "proto" / "__init__.py").exists()
