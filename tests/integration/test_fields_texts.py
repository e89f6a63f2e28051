"""Texts that no field takes: NUL, half a surrogate pair, bytes that are no UTF-8. One answer for all, and nothing of
the text in it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from gateway.errors import MalformedRequest
from muniment.v1 import policy_pb2, policy_service_pb2
from tests.integration.field_cases import is_map, places
from tests.integration.in_process import Gateway, Refused, gateway_at
from tests.integration.requests import GOOD, TENANT

MARK = "~canary~"
BROKEN = {
    "nul": b"~can\0ry~",
    "not utf-8": b"~can\xffry~",
    "overlong": b"~ca\xc0\x80ry~",
    "surrogate": b"~c\xed\xa0\x80ry~",
    "cut character": b"~canar\xe2\x82",
}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gateway]:
    async with gateway_at(tmp_path_factory.mktemp("data")) as opened:
        await opened.use_desk()
        yield opened


def marked(method: str) -> list[tuple[str, bytes]]:
    """The request's bytes with the mark in each of its texts in turn, by path."""
    found = []
    for place in places(GOOD[method]):
        is_text = place.field.type == FieldDescriptor.TYPE_STRING
        if is_text or is_map(place.field):
            spoils = [place.put([MARK] if place.field.is_repeated else MARK)]
            if is_map(place.field):
                spoils = [place.put({MARK: "v"}), place.put({"k": MARK})]
            for spoil in spoils:
                request: Message = type(GOOD[method])()
                request.CopyFrom(GOOD[method])
                spoil(request)
                found.append((place.path, request.SerializeToString()))
    return found


async def complaint(gateway: Gateway, method: str, body: bytes) -> str:
    """What is wrong with the answer; empty where it is as it should be."""
    try:
        await gateway.raw(method, body)
    except Refused as refused:
        told = (refused.code, refused.reason, refused.message, len(refused.status.details))
        return (
            "" if told == ("INVALID_ARGUMENT", "MALFORMED_REQUEST", MalformedRequest.text, 1) else str(told)
        )
    return "was accepted"


@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
@pytest.mark.parametrize("method", sorted(GOOD))
async def test_a_broken_text_in_any_field_is_refused_in_the_same_words(gateway, method, broken):
    texts = marked(method)
    assert texts
    assert all(body.count(MARK.encode()) == 1 and len(broken) == len(MARK) for _, body in texts)
    complaints = [
        f"{path}: {text}"
        for path, body in texts
        if (text := await complaint(gateway, method, body.replace(MARK.encode(), broken)))
    ]
    assert complaints == []


@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
async def test_a_broken_text_within_a_policy_is_refused_as_everywhere(gateway, broken):
    policy = policy_pb2.Policy(policy_id="p", description=MARK)
    body = policy_service_pb2.ValidatePolicyRequest(tenant_id=TENANT, policy=policy).SerializeToString()
    assert await complaint(gateway, "ValidatePolicy", body.replace(MARK.encode(), broken)) == ""


@pytest.mark.parametrize("broken", BROKEN.values(), ids=list(BROKEN))
async def test_broken_yaml_is_told_by_a_diagnostic_with_its_line(gateway, broken):
    yaml = b"policy_id: p\ndescription: " + broken + b"\nsections: [{question: {}}]\n"
    request = policy_service_pb2.ValidatePolicyRequest(tenant_id=TENANT, yaml=yaml)
    diagnostics = (await gateway.call("ValidatePolicy", request)).diagnostics
    assert [(d.line, bool(d.suggestion)) for d in diagnostics] == [(2, True)]
    assert "canary" not in str(diagnostics)


@pytest.mark.parametrize("escape", ["\\0", "\\ud800", "\\x00", "\\u0000"])
@pytest.mark.parametrize("line", ['description: "%s"', '"%s": 1', 'model: {provider: "%s"}'])
async def test_yaml_escapes_spell_no_text_that_a_message_could_not_hold(gateway, line, escape):
    yaml = f"policy_id: p\nsections: [{{question: {{}}}}]\n{line % escape}\n"
    request = policy_service_pb2.ValidatePolicyRequest(tenant_id=TENANT, yaml=yaml.encode())
    answer = await gateway.call("ValidatePolicy", request)
    assert [(d.rule_id, d.line) for d in answer.diagnostics] == [("yaml.character", 3)]


@pytest.mark.parametrize(
    ("yaml", "rule"),
    [
        (b"[" * 200_000, "yaml.depth"),
        (b"{a: " * 50_000, "yaml.depth"),
        (b"a: &a [*a]", "yaml.depth"),
        (b"a: [" + b"1," * 30_000 + b"]", "yaml.size"),
        (b"a: &a [1,1,1,1,1,1,1,1]\n" + b"b: [" + b"*a," * 4000 + b"]", "yaml.size"),
        (b"a: !!python/object/apply:os.system [id]", "yaml.unknown"),
    ],
    ids=["lists", "mappings", "itself", "wide", "aliases", "objects"],
)
async def test_hostile_yaml_is_given_up_and_told(gateway, yaml, rule):
    request = policy_service_pb2.ValidatePolicyRequest(tenant_id=TENANT, yaml=yaml)
    answer = await gateway.call("ValidatePolicy", request)
    assert rule in {d.rule_id for d in answer.diagnostics}
    assert not answer.valid


@pytest.mark.parametrize("method", sorted(GOOD))
async def test_bytes_that_are_no_message_are_refused_in_the_same_words(gateway, method):
    for body in (b"\xff", b"\x0a\x7f", GOOD[method].SerializeToString()[:-1], b"\x0b" * 200):
        assert await complaint(gateway, method, body) == ""
