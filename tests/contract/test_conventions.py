"""The contract keeps its own conventions: comments, enums, pagination, idempotency."""

import re

from buf.validate import validate_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from scripts.protos import drift

READS = re.compile(r"\.(Get|List|Search|Explain|Count|Validate|Replay)")


def test_every_element_has_a_comment(contract):
    assert len(contract.comments) > 500
    assert [n for n, comment in contract.comments.items() if not comment] == []


def test_comments_are_sentences(contract):
    odd = [
        n for n, c in contract.comments.items() if not (c[0].isupper() or c[0] == "`") or c[-1] not in ".:}"
    ]
    assert odd == []


def test_every_request_field_says_whether_it_is_required(contract):
    words = (
        "Required",
        "Optional",
        "required",
        "optional",
        "Output only",
        "Whether",
        "Without it",
        "Only",
        "write nothing",
    )
    silent = [
        f"{m}: {f.name}"
        for m in contract.methods
        for f in contract.request(m).field
        if f.type != FieldDescriptorProto.TYPE_BOOL
        and not any(w in contract.comments[f"{contract.request(m).name}.{f.name}"] for w in words)
        and not f.HasField("oneof_index")
        and f.name not in {"labels", "slots"}
    ]
    assert silent == []


def test_every_enum_starts_with_unspecified(contract):
    for name, enum in contract.enums.items():
        first = enum.value[0]
        assert first.number == 0, name
        assert first.name.endswith("_UNSPECIFIED"), name


def test_every_list_is_paginated(contract):
    lists = [m for m in contract.methods if ".List" in m]
    assert len(lists) == 6
    for method in lists:
        request = {f.name for f in contract.request(method).field}
        response = contract.response(method)
        assert {"page_size", "page_token"} <= request, method
        assert "next_page_token" in {f.name for f in response.field}, method
        assert sum(f.label == FieldDescriptorProto.LABEL_REPEATED for f in response.field) == 1, method


def test_every_write_takes_a_request_id_that_is_a_uuid(contract):
    writes = [m for m in contract.methods if not READS.search(m)]
    assert len(writes) == 13
    for method in writes:
        fields = {f.name: f for f in contract.request(method).field}
        assert "request_id" in fields, method
        rules = fields["request_id"].options.Extensions[validate_pb2.field]
        assert rules.string.uuid, method


def test_no_read_takes_a_request_id(contract):
    for method in contract.methods:
        if READS.search(method):
            assert "request_id" not in {f.name for f in contract.request(method).field}, method


def test_all_methods_are_unary(contract):
    assert [m for m, d in contract.methods.items() if d.client_streaming or d.server_streaming] == []


def test_every_string_that_a_caller_sends_has_a_bound(contract):
    unbounded = []
    for name in _reachable_from_requests(contract):
        for field in contract.messages[name].field:
            comment = contract.comments[f"{name}.{field.name}"]
            sent = field.type == FieldDescriptorProto.TYPE_STRING and "Output only" not in comment
            if sent and not _is_bounded(field) and f"{name}.{field.name}" not in BOUNDED_BY_THE_MESSAGE:
                unbounded.append(f"{name}.{field.name}")
    assert unbounded == []


def test_every_list_that_a_caller_sends_has_a_bound(contract):
    unbounded = []
    for name in _reachable_from_requests(contract):
        for field in contract.messages[name].field:
            rules = field.options.Extensions[validate_pb2.field]
            bounded = rules.repeated.HasField("max_items") or rules.map.HasField("max_pairs")
            if field.label == FieldDescriptorProto.LABEL_REPEATED and not bounded:
                unbounded.append(f"{name}.{field.name}")
    assert unbounded == []


def test_the_committed_stubs_are_what_protoc_makes_now():
    assert drift() == []


BOUNDED_BY_THE_MESSAGE = {
    "CountTokensRequest.texts",  # 1 MiB for all of them together: the request's own limit
    "RecentQuestion.turn_id",  # output only, as the list that holds it
    "RecentQuestion.text",
}


def _is_bounded(field):
    rules = field.options.Extensions[validate_pb2.field]
    text = rules.repeated.items.string if field.label == FieldDescriptorProto.LABEL_REPEATED else rules.string
    return text.HasField("max_len") or text.HasField("max_bytes") or text.HasField("pattern") or text.uuid


def _reachable_from_requests(contract):
    """The messages that a caller can send, by name."""
    pending = [contract.request(m).name for m in contract.methods]
    found = set()
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found.add(name)
        for field in contract.messages[name].field:
            target = field.type_name.removeprefix(".muniment.v1.")
            if field.type == FieldDescriptorProto.TYPE_MESSAGE and target in contract.messages:
                pending.append(target)
    return sorted(found)
