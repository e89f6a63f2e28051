"""YAML bytes to a tree of nodes with line and column, within bounds that hostile input cannot stretch."""

from dataclasses import dataclass

import yaml

from assemblers.text import find_invalid
from gateway.policies.diagnostics import ERROR, Diagnostic, Place

MAX_DEPTH = 32
MAX_NODES = 20_000


@dataclass(frozen=True, slots=True)
class YamlError(Exception):
    """The text is no usable YAML; `diagnostic` says where and why."""

    diagnostic: Diagnostic


class _Loader(yaml.SafeLoader):
    """Gives up where the tree gets too deep or too large: the scanner's time grows with the square of the depth."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._count = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """A node and what is below it."""
        self._depth += 1
        self._count += 1
        # PyYAML's stubs leave the parser's methods untyped.
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self._depth > MAX_DEPTH:
            raise YamlError(_too_deep(mark.line + 1, mark.column + 1))
        if self._count > MAX_NODES:
            raise YamlError(_too_many(mark.line + 1, mark.column + 1))
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def parse(data: bytes) -> yaml.MappingNode:
    """The root mapping. Raises `YamlError` for anything that is not one plain YAML mapping."""
    root = _compose(_decoded(data))
    if not isinstance(root, yaml.MappingNode):
        raise YamlError(
            Diagnostic(
                ERROR,
                "yaml.mapping",
                "",
                "the policy is no mapping: begin with `policy_id: …`",
                line=1,
                column=1,
            )
        )
    _check_nodes(root)
    return root


def place(node: yaml.Node) -> Place:
    """Where a node begins."""
    return node.start_mark.line + 1, node.start_mark.column + 1


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise YamlError(
            Diagnostic(ERROR, "yaml.encoding", "", "the text is not UTF-8", "save the file as UTF-8", line, 1)
        ) from None


def _compose(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise YamlError(
            Diagnostic(
                ERROR,
                "yaml.syntax",
                "",
                error.problem or "the YAML cannot be read",
                "check indentation, quotes and brackets here",
                line,
                column,
            )
        ) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise YamlError(_bad_character("a control character is not allowed in YAML", line, 1)) from None


def _check_nodes(root: yaml.Node) -> None:
    """Counts every node as often as it is reached, so that aliases cannot blow up what is read from the tree."""
    count = 0
    stack: list[tuple[yaml.Node, int]] = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        count += 1
        if depth > MAX_DEPTH:
            raise YamlError(_too_deep(*place(node)))
        if count > MAX_NODES:
            raise YamlError(_too_many(*place(node)))
        # Escapes in quotes can spell what no text of the contract may hold.
        if isinstance(node, yaml.ScalarNode) and (fault := find_invalid(node.value)) is not None:
            raise YamlError(_bad_character(f"the text {fault}", *place(node)))
        stack.extend((child, depth + 1) for child in _children(node))


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _too_deep(line: int, column: int) -> Diagnostic:
    return Diagnostic(
        ERROR, "yaml.depth", "", f"the nesting is deeper than {MAX_DEPTH}", "flatten it", line, column
    )


def _too_many(line: int, column: int) -> Diagnostic:
    message = f"the policy has more than {MAX_NODES} nodes"
    return Diagnostic(ERROR, "yaml.size", "", message, "write fewer entries, without aliases", line, column)


def _bad_character(message: str, line: int, column: int) -> Diagnostic:
    return Diagnostic(ERROR, "yaml.character", "", message, "remove it", line, column)
