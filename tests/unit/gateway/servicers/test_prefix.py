"""PrefixService: named by content, refused where it looks dynamic."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from gateway.errors import Outcome, Reason
from gateway.servicers.prefix import PrefixServicer
from gateway.servicers.tokens import WriteTokens
from gateway.usecases.prefixes import Prefixes
from muniment.v1 import prefix_pb2, types_pb2
from storage.ports import Storage

P = prefix_pb2
NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)
TEXT = "You help the customers of Contoso."


def tool(name: str, definition: str = '{"description": "Looks up"}') -> types_pb2.ToolDefinition:
    return types_pb2.ToolDefinition(name=name, definition_json=definition.encode())


def register(text: str = TEXT, *tools: types_pb2.ToolDefinition, **fields: Any) -> Any:
    fields = {"tenant_id": "acme", "prefix_id": "main", **fields}
    return P.RegisterPrefixRevisionRequest(text=text, tools=tools, **fields)


@pytest.fixture
def rpc(storage: Storage, make_rpc: Any) -> Any:
    servicer = PrefixServicer(Prefixes(storage.prefixes), WriteTokens(storage.epochs))
    return make_rpc(prefix_pb2.DESCRIPTOR.services_by_name["PrefixService"], servicer)


async def put(rpc: Any, *args: Any, **fields: Any) -> prefix_pb2.PrefixRevision:
    revision: prefix_pb2.PrefixRevision = (
        await rpc("RegisterPrefixRevision", register(*args, **fields))
    ).revision
    return revision


async def get(rpc: Any, name: str) -> prefix_pb2.PrefixRevision:
    answer = await rpc("GetPrefixRevision", P.GetPrefixRevisionRequest(name=name))
    revision: prefix_pb2.PrefixRevision = answer.revision
    return revision


async def test_a_revision_is_named_by_its_content_and_read_by_that_name(rpc: Any):
    revision = await put(rpc, TEXT, tool("crm"), prefix_id="a/b")
    assert revision.name == f"tenants/acme/prefixes/a%2Fb/revisions/{revision.sha256}"
    assert (revision.prefix_id, revision.text) == ("a/b", TEXT)
    assert revision.create_time.ToDatetime(UTC) == NOW
    assert await get(rpc, revision.name) == revision


async def test_tools_are_canonical_and_sorted_whatever_their_order_and_spelling(rpc: Any):
    one = tool("b", '{"parameters": {"b": 1, "a": 2.0}, "description": "é"}')
    two = tool("a")
    first = await put(rpc, TEXT, one, two)
    respelt = tool("b", '{ "description" : "\\u00e9", "parameters": {"a": 2, "b": 1} }')
    second = await put(rpc, TEXT, two, respelt)
    assert first == second
    assert [t.name for t in first.tools] == ["a", "b"]
    assert first.tools[1].definition_json == '{"description":"é","parameters":{"a":2,"b":1}}'.encode()


@pytest.mark.parametrize(
    "other",
    [
        register(TEXT + " "),
        register(TEXT, tool("crm")),
        register(TEXT, tool("crm2", '{"description":"Looks up"}')),
        register(TEXT, tool("crm", '{"description":"Looks up."}')),
    ],
)
async def test_any_other_content_is_another_revision(rpc: Any, other: Any):
    names = {(await put(rpc)).sha256, (await rpc("RegisterPrefixRevision", other)).revision.sha256}
    assert len(names) == 2


async def test_equal_content_is_given_back_as_it_was_stored_first(rpc: Any):
    first = await put(rpc)
    rpc.now = NOW + timedelta(days=1)
    assert await put(rpc, allowed_patterns=["date"]) == first


async def test_two_texts_and_tools_that_join_alike_differ(rpc: Any):
    one = await put(rpc, "ab", tool("c", '{"x":"d"}'))
    two = await put(rpc, "a", tool("c", '{"x":"d"}'))
    assert one.sha256 != two.sha256


async def test_a_prefix_alone_means_its_newest_revision(rpc: Any):
    await put(rpc, "one")
    newest = await put(rpc, "two")
    assert await get(rpc, "tenants/acme/prefixes/main") == newest


@pytest.mark.parametrize(
    ("text", "pattern", "found"),
    [
        ("Be kind.\nToday is 2026-11-29.", "date", "2026-11-29"),
        ("Be kind.\nIt is now 14:35:07.", "time", "14:35:07"),
        ("Be kind.\nId 3f2b8c1e-9d47-4a60-8e15-7c0d6b9a2f41", "uuid", "3f2b8c1e-9d47-4a60-8e15-7c0d6b9a2f41"),
        ("Be kind.\nWrite to ann@example.com", "email", "ann@example.com"),
        ("Be kind.\nHello {{user_name}}", "template", "{{user_name}}"),
    ],
)
async def test_what_looks_dynamic_is_refused_with_its_place_unless_allowed_by_name(
    rpc: Any, text: str, pattern: str, found: str
):
    failure = await rpc.failure("RegisterPrefixRevision", register(text))
    assert (failure.outcome, failure.reason) == (Outcome.INVALID_ARGUMENT, Reason.PREFIX_DYNAMIC)
    assert failure.metadata["field"] == "text"
    assert failure.metadata["pattern"] == pattern
    assert failure.metadata["line"] == "2"
    offset = int(failure.metadata["offset"])
    assert text[offset : offset + 4] == found[:4]
    assert int(failure.metadata["column"]) == offset - len("Be kind.\n") + 1
    assert found in failure.message
    assert f"put {pattern!r} into allowed_patterns" in failure.message
    assert (await put(rpc, text, allowed_patterns=[pattern])).text == text
    others = [p for p in ("date", "time", "uuid", "email", "template") if p != pattern]
    assert (await rpc.failure("RegisterPrefixRevision", register(text, allowed_patterns=others))).outcome


async def test_a_dynamic_tool_is_named_by_its_place_in_the_request(rpc: Any):
    dated = tool("a", json.dumps({"parameters": {"description": "since 2026-11-29"}}))
    failure = await rpc.failure("RegisterPrefixRevision", register(TEXT, tool("z"), dated))
    assert failure.metadata["field"] == "tools[1].definition_json#/parameters/description"


@pytest.mark.parametrize(
    ("request_", "field", "remedy"),
    [
        (register(""), "text", "send a system text, tools or both"),
        (register(TEXT, tool("a"), tool("b"), tool("a")), "tools[2].name", "send each tool once"),
        (register(TEXT, tool("a", "[]")), "tools[0].definition_json", "wrap it in {}"),
        (register(TEXT, tool("a", "{,}")), "tools[0].definition_json", "is not valid JSON"),
        (register(TEXT, tool("a", '{"name":"b"}')), "tools[0].definition_json", "leave the name out"),
        (register(TEXT, tool("a", '{"x":9007199254740993}')), "tools[0].definition_json", "as a string"),
        (
            register(TEXT, allowed_patterns=["dates"]),
            "allowed_patterns[0]",
            "date, time, uuid, email, template",
        ),
        (register("x" * 262_145), "text", "at most 262144 bytes"),
    ],
)
async def test_a_wrong_prefix_is_refused_with_its_place(rpc: Any, request_: Any, field: str, remedy: str):
    failure = await rpc.failure("RegisterPrefixRevision", request_)
    assert failure.outcome is Outcome.INVALID_ARGUMENT
    assert failure.metadata["field"] == field
    assert remedy in failure.message


async def test_a_definition_may_repeat_the_name(rpc: Any):
    assert (await put(rpc, "", tool("a", '{"name":"a"}'))).tools[0].definition_json == b'{"name":"a"}'


async def test_validate_only_names_the_revision_and_writes_nothing(rpc: Any):
    checked = await put(rpc, validate_only=True)
    assert not checked.HasField("create_time")
    failure = await rpc.failure("GetPrefixRevision", P.GetPrefixRevisionRequest(name=checked.name))
    assert failure.outcome is Outcome.NOT_FOUND
    assert (await put(rpc)).name == checked.name


async def test_another_tenants_or_unknown_revision_looks_the_same(rpc: Any):
    mine = await put(rpc)
    names = [mine.name.replace("acme", "other"), mine.name[:-1] + "0", "tenants/acme/prefixes/none"]
    failures = [
        await rpc.failure("GetPrefixRevision", P.GetPrefixRevisionRequest(name=name)) for name in names
    ]
    assert {(f.outcome, f.message, *f.metadata) for f in failures} == {(Outcome.NOT_FOUND, failures[0].text)}


async def test_a_repeat_gets_the_first_answer_byte_for_byte(rpc: Any):
    request = register(request_id=str(UUID(int=1, version=4)))
    first = await rpc.raw("RegisterPrefixRevision", request)
    rpc.now = NOW + timedelta(minutes=1)
    assert await rpc.raw("RegisterPrefixRevision", request) == first
    request.text = "other"
    assert (await rpc.failure("RegisterPrefixRevision", request)).reason is Reason.REQUEST_ID_REUSED


async def test_a_list_pages_newest_first(rpc: Any):
    for number in range(5):
        await put(rpc, f"text {'x' * number}")
    seen: list[str] = []
    token, pages = "", 0
    while token or not pages:
        request = P.ListPrefixRevisionsRequest(
            prefix="tenants/acme/prefixes/main", page_size=2, page_token=token
        )
        page = await rpc("ListPrefixRevisions", request)
        seen += [revision.text for revision in page.revisions]
        token, pages = page.next_page_token, pages + 1
    assert seen == [f"text {'x' * number}" for number in (4, 3, 2, 1, 0)]


async def test_a_page_ends_at_a_mebibyte_and_goes_on_without_a_gap(rpc: Any):
    texts = [f"{letter} " * 100_000 for letter in "abcdefg"]
    for text in texts:
        await put(rpc, text)
    seen: list[str] = []
    token = ""
    sizes: list[int] = []
    while token or not sizes:
        request = P.ListPrefixRevisionsRequest(prefix="tenants/acme/prefixes/main", page_token=token)
        page = await rpc("ListPrefixRevisions", request)
        seen += [revision.text for revision in page.revisions]
        sizes.append(page.ByteSize())
        token = page.next_page_token
    assert seen == texts[::-1]
    assert max(sizes) < (1 << 20) + 4096
    assert len(sizes) == 2


async def test_another_tenants_list_is_empty(rpc: Any):
    await put(rpc)
    request = P.ListPrefixRevisionsRequest(prefix="tenants/other/prefixes/main")
    assert await rpc("ListPrefixRevisions", request) == P.ListPrefixRevisionsResponse()
