"""Every field of every request, made wrong: the answer names the field by its path, the rule and the remedy."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from google.protobuf.field_mask_pb2 import FieldMask

from gateway.server.pipeline import MAX_IMPORT_BYTES, MAX_REQUEST_BYTES
from tests.integration.field_cases import Case, Place, cases, choices, places
from tests.integration.in_process import Gateway, Refused, gateway_at
from tests.integration.requests import GOOD

# Resource names, by method and path; all others called so are ids or texts of their own.
NAMES = {
    "ReportUsage": ("trace",),
    "RecordTurns": ("trace",),
    "GetFact": ("name",),
    "DeleteFact": ("name",),
    "InvalidateFacts": ("name",),
    "GetPolicy": ("name",),
    "ListPolicyRevisions": ("policy",),
    "ListTraces": ("policy",),
    "ActivatePolicyRevision": ("name",),
    "RollbackPolicy": ("name",),
    "GetPrefixRevision": ("name",),
    "ListPrefixRevisions": ("prefix",),
    "GetTrace": ("name",),
    "ReplayTrace": ("name",),
    "ExplainItem": ("trace",),
    "ExplainAbsence": ("trace", "fact", "excerpt"),
}
# By a name or by a plain id: only a name of another kind is wrong in its form.
REFERENCES = {"AssembleContext", "ExplainContext", "RecordTurns", "UpdateSlots", "EndSession", "RecordFacts"}
REFERENCES |= {"ImportHistory", "SearchHistory"}

# Fields that allow every value, with the reason.
ANY_VALUE = {
    "validate_only": "a flag",
    "include_retired": "a flag",
    "is_error": "a flag",
    "tenant_default": "a flag",
    "flag": "a flag",
    "integer": "every whole number of 64 bits is one",
    "subject": "empty means the user",
    "account": "its id is checked",
    "tool_call": "what is in it is checked",
    "tool_result": "what is in it is checked",
    "model": "what is in it is checked",
    "budget": "what is in it is checked",
    "slots": "what is in it is checked",
    "focus": "what is in it is checked",
    "fact_key": "what is in it is checked",
    "entity": "what is in it is checked",
    "consistency": "what is in it is checked",
    "texts": "texts of any kind can be counted",
    "policy": "told by diagnostics",
}
# What the contract calls output only is not read in a request.
OUTPUT_ONLY = {
    "facts[0].name", "facts[0].user", "facts[0].user.tenant_id", "facts[0].user.user_id", "facts[0].state",
    "facts[0].write_time", "facts[0].superseded_by", "facts[0].invalidate_time", "facts[0].invalidation_reason",
    "facts[0].etag", "slots.focus.set_by", "slots.focus.turn_id", "slots.filters[0].set_by",
    "slots.filters[0].turn_id", "slots.recent_questions", "slots.recent_questions[0].turn_id",
    "slots.recent_questions[0].text",
}  # fmt: skip

# No trace of what the server is made of.
INTERNAL = re.compile(
    r"protovalidate|protobuf|pb2|cel\b|python|traceback|exception|error_class|sqlite|/home|/work|\.py|this\.",
    re.IGNORECASE,
)
ADVICE = re.compile(r": \w|must be")


# Nothing is written by a wrong request, so one gateway serves all tests.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gateway]:
    async with gateway_at(tmp_path_factory.mktemp("data")) as opened:
        await opened.use_desk()
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def untouched(tmp_path: Path) -> AsyncIterator[Gateway]:
    """A gateway that nobody has called: some good requests may be made once only."""
    async with gateway_at(tmp_path) as opened:
        await opened.use_desk()
        yield opened


def wrong(method: str) -> list[Case]:
    """Every way of spoiling the method's request."""
    good = GOOD[method]
    found = [case for place in places(good) for case in (*cases(place), *named_cases(method, place))]
    return [*found, *choices(good)]


def named_cases(method: str, place: Place) -> list[Case]:
    if not place.above and place.field.name in NAMES.get(method, ()):
        return [
            Case(place.put(value), place.path, "no resource name")
            for value in ("nonsense/x", "tenants/acme/users/ada", "tenants/a b/users/../facts/1", "x" * 1000)
        ]
    if place.field.name == "policy" and method in REFERENCES and place.field.message_type is None:
        return [Case(place.put("tenants/acme/nonsense"), place.path, "no policy's name")]
    if place.path.endswith("consistency.token"):
        return [Case(place.put(value), place.path, "no token") for value in ("nonsense", "AAAA", "größer")]
    if place.path == "update_mask":
        return [Case(place.put(FieldMask(paths=["focus.id"])), "update_mask", "a path too deep")]
    return []


async def told(gateway: Gateway, method: str, case: Case) -> str:
    """What is wrong with the answer; empty where it is as it should be."""
    request = type(GOOD[method])()
    request.CopyFrom(GOOD[method])
    case.spoil(request)
    body = request.SerializeToString()
    if len(body) > (MAX_IMPORT_BYTES if method == "ImportHistory" else MAX_REQUEST_BYTES):
        return ""
    try:
        await gateway.raw(method, body)
    except Refused as refused:
        return complaint(refused, case.field)
    return "was accepted"


def complaint(refused: Refused, field: str) -> str:
    if refused.code != "INVALID_ARGUMENT":
        return f"is {refused.code}: {refused.message}"
    if field not in refused.violations:
        return f"names {sorted(refused.violations)}: {refused.message}"
    description = refused.violations[field]
    if not ADVICE.search(description):
        return f"gives no remedy: {description}"
    texts = (description, refused.message)
    return next((f"tells internals: {text}" for text in texts if INTERNAL.search(text)), "")


@pytest.mark.parametrize("method", sorted(GOOD))
async def test_a_wrong_value_of_any_field_is_told_with_path_and_remedy(gateway, method):
    complaints = [
        f"{case.field} ({case.what}) {text}"
        for case in wrong(method)
        if (text := await told(gateway, method, case))
    ]
    assert complaints == []


async def test_there_is_a_good_request_for_every_method(gateway):
    assert set(GOOD) == set(gateway.methods)
    assert all(type(request).DESCRIPTOR is gateway.methods[name].input_type for name, request in GOOD.items())


@pytest.mark.parametrize("method", sorted(GOOD))
async def test_no_field_goes_without_a_wrong_value_or_a_reason(method):
    without = [
        place.path
        for place in places(GOOD[method])
        if not list(cases(place)) and not named_cases(method, place)
    ]
    unexplained = [
        path
        for path in without
        if path not in OUTPUT_ONLY and path.split(".")[-1].split("[")[0] not in ANY_VALUE
    ]
    assert unexplained == []


@pytest.mark.parametrize("method", sorted(GOOD))
async def test_a_good_request_breaks_no_rule(untouched, method):
    code = await untouched.code(method, GOOD[method])
    assert code in {"OK", "NOT_FOUND", "FAILED_PRECONDITION"}
