"""The contract as protoc sees it, with comments and with the annotations resolved."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from buf.validate import validate_pb2  # noqa: F401  registers the extensions that the options below are read with
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
)

from scripts.protos import compile_protos, sources

# The numbers of the fields that a path in the source info is made of (descriptor.proto).
FILE_MESSAGE, FILE_ENUM, FILE_SERVICE = 4, 5, 6
MESSAGE_FIELD, MESSAGE_NESTED, MESSAGE_ENUM, MESSAGE_ONEOF = 2, 3, 4, 8
ENUM_VALUE, SERVICE_METHOD = 2, 2


@dataclass
class Contract:
    """Every element of the contract by its full name. `comments` has "" for one without a comment."""

    messages: dict[str, DescriptorProto] = field(default_factory=dict)
    fields: dict[str, FieldDescriptorProto] = field(default_factory=dict)
    enums: dict[str, EnumDescriptorProto] = field(default_factory=dict)
    methods: dict[str, MethodDescriptorProto] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)

    def request(self, method: str) -> DescriptorProto:
        """The request message of a method."""
        return self.messages[self.methods[method].input_type.removeprefix(".muniment.v1.")]

    def response(self, method: str) -> DescriptorProto:
        """The response message of a method."""
        return self.messages[self.methods[method].output_type.removeprefix(".muniment.v1.")]


def _walk_enum(
    into: Contract, enum: EnumDescriptorProto, scope: str, path: tuple[int, ...]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    name = f"{scope}{enum.name}"
    into.enums[name] = enum
    yield name, path
    for i, value in enumerate(enum.value):
        yield f"{name}.{value.name}", (*path, ENUM_VALUE, i)


def _walk_message(
    into: Contract, message: DescriptorProto, scope: str, path: tuple[int, ...]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    if message.options.map_entry:
        return
    name = f"{scope}{message.name}"
    into.messages[name] = message
    yield name, path
    for i, member in enumerate(message.field):
        into.fields[f"{name}.{member.name}"] = member
        yield f"{name}.{member.name}", (*path, MESSAGE_FIELD, i)
    for i, oneof in enumerate(message.oneof_decl):
        if not oneof.name.startswith("_"):  # the ones that stand for `optional`
            yield f"{name}.{oneof.name}", (*path, MESSAGE_ONEOF, i)
    for i, enum in enumerate(message.enum_type):
        yield from _walk_enum(into, enum, f"{name}.", (*path, MESSAGE_ENUM, i))
    for i, nested in enumerate(message.nested_type):
        yield from _walk_message(into, nested, f"{name}.", (*path, MESSAGE_NESTED, i))


def _walk_file(into: Contract, file: FileDescriptorProto) -> Iterator[tuple[str, tuple[int, ...]]]:
    for i, message in enumerate(file.message_type):
        yield from _walk_message(into, message, "", (FILE_MESSAGE, i))
    for i, enum in enumerate(file.enum_type):
        yield from _walk_enum(into, enum, "", (FILE_ENUM, i))
    for i, service in enumerate(file.service):
        yield service.name, (FILE_SERVICE, i)
        for j, method in enumerate(service.method):
            into.methods[f"{service.name}.{method.name}"] = method
            yield f"{service.name}.{method.name}", (FILE_SERVICE, i, SERVICE_METHOD, j)


@pytest.fixture(scope="session")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Contract:
    """The whole of `muniment.v1`."""
    target: Path = tmp_path_factory.mktemp("contract") / "set.binpb"
    compile_protos(
        [f"--descriptor_set_out={target}", "--include_source_info"],
        [f for f in sources() if f.startswith("muniment/v1/")],
    )
    found = Contract()
    for file in FileDescriptorSet.FromString(target.read_bytes()).file:
        comments = {tuple(p.path): p.leading_comments.strip() for p in file.source_code_info.location}
        for name, path in _walk_file(found, file):
            found.comments[name] = comments.get(path, "")
    return found
