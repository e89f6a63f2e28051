"""Write `proto/buf/validate/validate.proto` from the descriptor inside the installed protovalidate.

protovalidate 2 carries the descriptor for its own runtime only, and not the file that protoc and Google's
protobuf need. Taking it from the wheel keeps the annotations and the engine that reads them of one version,
and needs no network. After an upgrade of protovalidate: `python -m scripts.buf_validate && make proto`.
"""

from collections.abc import Iterator
from pathlib import Path

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    field_mask_pb2,
    message_factory,
    text_format,
    timestamp_pb2,
)
from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto
from google.protobuf.message import Message
from protovalidate._gen.buf.validate import validate_pb

TARGET = Path("proto/buf/validate/validate.proto")

HEADER = """\
// Copyright 2023-2026 Buf Technologies, Inc.
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//      http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// Written by scripts/buf_validate.py from the descriptor in the protovalidate wheel. Do not edit.
// The annotations are documented at https://protovalidate.com.

"""

_SCALARS = {
    FieldDescriptorProto.TYPE_DOUBLE: "double",
    FieldDescriptorProto.TYPE_FLOAT: "float",
    FieldDescriptorProto.TYPE_INT64: "int64",
    FieldDescriptorProto.TYPE_UINT64: "uint64",
    FieldDescriptorProto.TYPE_INT32: "int32",
    FieldDescriptorProto.TYPE_FIXED64: "fixed64",
    FieldDescriptorProto.TYPE_FIXED32: "fixed32",
    FieldDescriptorProto.TYPE_BOOL: "bool",
    FieldDescriptorProto.TYPE_STRING: "string",
    FieldDescriptorProto.TYPE_BYTES: "bytes",
    FieldDescriptorProto.TYPE_UINT32: "uint32",
    FieldDescriptorProto.TYPE_SFIXED32: "sfixed32",
    FieldDescriptorProto.TYPE_SFIXED64: "sfixed64",
    FieldDescriptorProto.TYPE_SINT32: "sint32",
    FieldDescriptorProto.TYPE_SINT64: "sint64",
}
_LABELS = {
    FieldDescriptorProto.LABEL_OPTIONAL: "optional ",
    FieldDescriptorProto.LABEL_REQUIRED: "required ",
    FieldDescriptorProto.LABEL_REPEATED: "repeated ",
}


def _load() -> tuple[descriptor_pb2.FileDescriptorProto, descriptor_pool.DescriptorPool]:
    """The file's descriptor with its own extensions resolved, whatever version the default pool holds."""
    pool = descriptor_pool.DescriptorPool()
    for module in (descriptor_pb2, duration_pb2, field_mask_pb2, timestamp_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    raw = validate_pb.desc().proto.to_binary()
    pool.AddSerializedFile(raw)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("google.protobuf.FileDescriptorProto"))
    return kind.FromString(raw), pool  # type: ignore[return-value]  # the same message, from another pool


def _option(value: object) -> str:
    """An option's value as protoc reads it."""
    if isinstance(value, Message):
        return "{ " + text_format.MessageToString(value, as_one_line=True) + " }"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _options(options: Message) -> str:
    """The bracketed options of a field, extensions in text format."""
    parts = []
    for field, value in options.ListFields():
        name = f"({field.full_name})" if field.is_extension else field.name
        parts.append(f"{name} = {_option(value)}")
    return f" [{', '.join(parts)}]" if parts else ""


def _field(field: FieldDescriptorProto, label: bool = True) -> str:
    kind = _SCALARS.get(field.type) or field.type_name
    prefix = _LABELS[field.label] if label else ""
    return f"{prefix}{kind} {field.name} = {field.number}{_options(field.options)};"


def _ranges(numbers: Iterator[str], names: list[str]) -> Iterator[str]:
    listed = ", ".join(numbers)
    if listed:
        yield f"  reserved {listed};"
    if names:
        yield "  reserved " + ", ".join(f'"{n}"' for n in names) + ";"


def _range(start: int, last: int, end: int) -> str:
    if last >= end:
        return f"{start} to max"
    return str(start) if start == last else f"{start} to {last}"


def _message(message: DescriptorProto) -> Iterator[str]:
    yield f"message {message.name} {{"
    oneof = -1
    for field in message.field:
        inside = field.oneof_index if field.HasField("oneof_index") else -1
        if inside != oneof:
            if oneof >= 0:
                yield "  }"
            if inside >= 0:
                yield f"  oneof {message.oneof_decl[inside].name} {{"
            oneof = inside
        yield ("    " if inside >= 0 else "  ") + _field(field, label=inside < 0)
    if oneof >= 0:
        yield "  }"
    for extension in message.extension_range:
        yield f"  extensions {_range(extension.start, extension.end - 1, 536870911)};"
    reserved = (_range(r.start, r.end - 1, 536870911) for r in message.reserved_range)
    yield from _ranges(reserved, list(message.reserved_name))
    yield "}"


def _enum(enum: EnumDescriptorProto) -> Iterator[str]:
    yield f"enum {enum.name} {{"
    for value in enum.value:
        yield f"  {value.name} = {value.number};"
    yield from _ranges(
        (_range(r.start, r.end, 2147483647) for r in enum.reserved_range), list(enum.reserved_name)
    )
    yield "}"


def render() -> str:
    """The text of the file."""
    file, _pool = _load()
    lines = [f'syntax = "{file.syntax or "proto2"}";', "", f"package {file.package};", ""]
    lines += [f'import "{d}";' for d in file.dependency]
    lines += ["", f'option go_package = "{file.options.go_package}";', "option java_multiple_files = true;"]
    lines += [f'option java_outer_classname = "{file.options.java_outer_classname}";']
    lines += [f'option java_package = "{file.options.java_package}";']
    for extension in file.extension:
        lines += ["", f"extend {extension.extendee} {{", "  " + _field(extension), "}"]
    for message in file.message_type:
        lines += ["", *_message(message)]
    for enum in file.enum_type:
        lines += ["", *_enum(enum)]
    return HEADER + "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(render(), encoding="utf-8")
