"""Reads a policy message from YAML: by the proto's own descriptors, with line and column for all that does not fit."""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from typing import cast

import yaml
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from gateway.policies.diagnostics import ERROR, Diagnostic, Place
from gateway.policies.yaml_tree import YamlError, parse, place
from muniment.v1.policy_pb2 import Policy

_DURATION = re.compile(r"(\d{1,9})(d|h|m|s)")
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_INTEGERS = {FieldDescriptor.TYPE_INT32: 31, FieldDescriptor.TYPE_INT64: 63}
_TAGS = {
    "tag:yaml.org,2002:str": "a text", "tag:yaml.org,2002:int": "a whole number", "tag:yaml.org,2002:float": "a number",
    "tag:yaml.org,2002:bool": "true or false", "tag:yaml.org,2002:null": "nothing",
    "tag:yaml.org,2002:timestamp": "a date",
}  # fmt: skip


@dataclass(slots=True)
class ReadPolicy:
    """What was read: the message as far as it could be, where each field stood, and what did not fit."""

    message: Policy = field(default_factory=Policy)
    places: dict[str, Place] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def read_yaml(data: bytes) -> ReadPolicy:
    """Read a policy; every misfit is a diagnostic, and the rest is read all the same."""
    result = ReadPolicy()
    try:
        root = parse(data)
    except YamlError as error:
        result.diagnostics.append(error.diagnostic)
        return result
    result.places[""] = place(root)
    _Reader(result).message(root, result.message, "")
    return result


@dataclass(slots=True)
class _Reader:
    result: ReadPolicy

    def message(self, node: yaml.Node, target: Message, path: str) -> None:
        if _is_null(node):
            target.SetInParent()
            return
        if not isinstance(node, yaml.MappingNode):
            self._misfit(node, path, "mapping", f"expected a mapping, found {_found(node)}")
            return
        target.SetInParent()
        seen: set[str] = set()
        for key, value in node.value:
            self._entry(key, value, target, path, seen)

    def _entry(self, key: yaml.Node, value: yaml.Node, target: Message, path: str, seen: set[str]) -> None:
        name = key.value if isinstance(key, yaml.ScalarNode) else ""
        at = f"{path}.{name}" if path else name
        within = cast("Descriptor", target.DESCRIPTOR)
        descriptor = within.fields_by_name.get(name)
        if descriptor is None:
            self._unknown(key, name, at, within)
            return
        if name in seen:
            self._misfit(key, at, "duplicate", f"`{name}` is given twice", "keep one of them")
            return
        seen.add(name)
        self.result.places[at] = place(key)
        if not self._second_choice(key, descriptor, target, at):
            self._field(value, descriptor, target, at)

    def _second_choice(self, key: yaml.Node, descriptor: FieldDescriptor, target: Message, at: str) -> bool:
        """Whether another alternative of the same choice is set already."""
        choice = descriptor.containing_oneof
        if choice is None or len(choice.fields) == 1:
            return False
        other = target.WhichOneof(choice.name)
        if other is None:
            return False
        self._misfit(key, at, "choice", f"`{other}` is set here already", "give each its own list entry")
        return True

    def _field(self, node: yaml.Node, descriptor: FieldDescriptor, target: Message, at: str) -> None:
        if not descriptor.is_repeated:
            self._single(node, descriptor, target, at)
        elif isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self._item(item, descriptor, target, f"{at}[{index}]")
        elif not _is_null(node):
            self._misfit(
                node, at, "list", f"expected a list, found {_found(node)}", "write `- ` before each item"
            )

    def _item(self, node: yaml.Node, descriptor: FieldDescriptor, target: Message, at: str) -> None:
        self.result.places[at] = place(node)
        items = getattr(target, descriptor.name)
        if descriptor.message_type is not None:
            self.message(node, items.add(), at)
            return
        value = self._scalar(node, descriptor, at)
        if value is not None:
            items.append(value)

    def _single(self, node: yaml.Node, descriptor: FieldDescriptor, target: Message, at: str) -> None:
        if descriptor.message_type is None:
            value = self._scalar(node, descriptor, at)
            if value is not None:
                setattr(target, descriptor.name, value)
        elif descriptor.message_type.full_name == Duration.DESCRIPTOR.full_name:
            self._duration(node, getattr(target, descriptor.name), at)
        else:
            self.message(node, getattr(target, descriptor.name), at)

    def _duration(self, node: yaml.Node, target: Duration, at: str) -> None:
        match = _DURATION.fullmatch(node.value) if isinstance(node, yaml.ScalarNode) else None
        if match is None:
            self._misfit(
                node,
                at,
                "duration",
                f"expected a duration, found {_found(node)}",
                "write it like 180d or 12h",
            )
            return
        target.FromTimedelta(timedelta(**{_UNITS[match[2]]: int(match[1])}))

    def _scalar(self, node: yaml.Node, descriptor: FieldDescriptor, at: str) -> str | int | bool | None:
        if not isinstance(node, yaml.ScalarNode):
            self._misfit(node, at, "scalar", f"expected a single value, found {_found(node)}")
            return None
        if descriptor.enum_type is not None:
            return self._enum(node, descriptor.enum_type, at)
        if descriptor.type == FieldDescriptor.TYPE_STRING:
            return self._text(node, at)
        if descriptor.type == FieldDescriptor.TYPE_BOOL:
            return self._flag(node, at)
        return self._integer(node, _INTEGERS[descriptor.type], at)

    def _text(self, node: yaml.ScalarNode, at: str) -> str | None:
        if node.tag == "tag:yaml.org,2002:str":
            return str(node.value)
        self._misfit(
            node, at, "text", f"expected a text, found {_found(node)}", f"put it in quotes: '{node.value}'"
        )
        return None

    def _flag(self, node: yaml.ScalarNode, at: str) -> bool | None:
        if node.tag == "tag:yaml.org,2002:bool":
            return node.value.lower() in ("true", "yes", "on")
        self._misfit(node, at, "flag", f"expected true or false, found {_found(node)}")
        return None

    def _integer(self, node: yaml.ScalarNode, bits: int, at: str) -> int | None:
        if re.fullmatch(r"[+-]?\d{1,19}", node.value) and node.style is None:
            value = int(node.value)
            if -(2**bits) <= value < 2**bits:
                return value
        self._misfit(node, at, "integer", f"expected a whole number, found {_found(node)}")
        return None

    def _enum(self, node: yaml.ScalarNode, enum: EnumDescriptor, at: str) -> int | None:
        names = enum_names(enum)
        name = node.value.upper()
        if name in names:
            return names[name]
        close = get_close_matches(name, names, 1)
        hint = f"did you mean {close[0]}?" if close else f"choose {', '.join(names)}"
        self._misfit(node, at, "enum", f"{node.value!r} is not one of the values", hint)
        return None

    def _unknown(self, node: yaml.Node, name: str, at: str, within: Descriptor) -> None:
        known = [f.name for f in within.fields]
        close = get_close_matches(name, known, 1)
        hint = f"did you mean `{close[0]}`?" if close else f"known here: {', '.join(known)}"
        self._misfit(node, at, "unknown", f"there is no field `{name}` here", hint)

    def _misfit(self, node: yaml.Node, at: str, rule: str, message: str, suggestion: str = "") -> None:
        line, column = place(node)
        self.result.diagnostics.append(
            Diagnostic(ERROR, f"yaml.{rule}", at, message, suggestion, line, column)
        )


def enum_names(enum: EnumDescriptor) -> dict[str, int]:
    """The values by their names without the enum's prefix, UNSPECIFIED left out."""
    prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enum.name).upper() + "_"
    return {v.name.removeprefix(prefix): v.number for v in enum.values if v.number != 0}


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _found(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    kind = _TAGS.get(node.tag, "a value of another type")
    return kind if kind == "nothing" else f"{kind} ({node.value[:40]})"
