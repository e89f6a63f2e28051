"""Bytes become a valid request, or one answer says everything that is wrong."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gateway.errors import InvalidArgument, MalformedRequest
from gateway.server.json_rules import JsonFault, parse_json
from gateway.server.validation import UnsafeProtobufError, assert_safe_protobuf, validation
from muniment.v1 import context_pb2, fact_pb2, prefix_pb2, session_pb2, types_pb2

SESSION = types_pb2.SessionRef(tenant_id="acme", user_id="u-1", session_id="s-1")
REQUEST_ID = "6f1c2a00-6f1c-4a00-8f1c-6f1c2a006f1c"


@pytest.fixture
def valid() -> context_pb2.AssembleContextRequest:
    return context_pb2.AssembleContextRequest(
        session=SESSION,
        turn=types_pb2.Turn(
            turn_id="t-1",
            role=types_pb2.ROLE_USER,
            contents=[types_pb2.Content(text="what about their credit terms?")],
        ),
        time_zone="Europe/Berlin",
        request_id=REQUEST_ID,
    )


@pytest.fixture
def run(make_call, method) -> Any:
    async def validate(request: Any) -> Any:
        typed = replace(method, request_class=type(request))

        async def keep(call: Any) -> bytes:
            return b"went on"

        call = make_call(request.SerializeToString(), method=typed)
        assert await validation(typed, keep)(call) == b"went on"
        return call.request

    return validate


async def violations(run: Any, request: Any) -> dict[str, str]:
    with pytest.raises(InvalidArgument) as refused:
        await run(request)
    return {v.field: v.description for v in refused.value.violations}


async def test_a_valid_request_goes_on_decoded(run, valid):
    assert await run(valid) == valid


@pytest.mark.parametrize("body", [b"\xff\xff\xff", b"\x0a\x7f", b"\x0a\x03\x0a\x01\xff", b"\x0a" * 300])
async def test_malformed_bytes_and_invalid_utf8_get_one_fixed_text(body, make_call, method):
    with pytest.raises(MalformedRequest) as refused:
        await validation(method, _never)(make_call(body))
    assert str(refused.value) == MalformedRequest.text


@pytest.mark.parametrize(("depth", "fits"), [(50, True), (101, False), (20_000, False)])
async def test_nesting_beyond_the_parsers_bound_is_malformed(depth, fits, run, valid, make_call, method):
    nested = valid.SerializeToString() + b"\xbb\x3e" * depth + b"\xbc\x3e" * depth  # groups of field 999

    async def keep(_: Any) -> bytes:
        return b"went on"

    call = validation(method, keep)(make_call(nested))
    if fits:
        assert await call == b"went on"
    else:
        with pytest.raises(MalformedRequest):
            await call


async def _never(_: Any) -> bytes:
    raise AssertionError("went on")


@pytest.mark.parametrize(
    "put",
    [
        lambda r: setattr(r.turn.contents[0], "text", "a\x00b"),
        lambda r: r.labels.update({"k": "a\x00"}),
        lambda r: r.labels.update({"k\x00": "a"}),
        lambda r: setattr(r.session, "user_id", "u\x00"),
        lambda r: r.material.add(text="t", source="s", title="\x00"),
    ],
)
async def test_nul_in_any_text_gets_the_same_fixed_text(put, run, valid):
    put(valid)
    with pytest.raises(MalformedRequest):
        await run(valid)


async def test_zero_bytes_that_belong_to_numbers_are_no_nul(run, valid):
    valid.budget.max_input_tokens = 0
    assert (await run(valid)).budget.HasField("max_input_tokens")


async def test_all_violations_are_told_at_once_with_their_paths_and_remedies(run, valid):
    valid.session.tenant_id = "ac me"
    valid.turn.turn_id = "x" * 129
    valid.turn.role = 99
    valid.turn.contents.add().tool_call.CopyFrom(types_pb2.ToolCall(call_id="c", tool_name=""))
    valid.turn.contents[1].tool_call.arguments_json = "{"
    valid.time_zone = "Mars/Base"
    found = await violations(run, valid)
    assert set(found) == {
        "session.tenant_id",
        "turn.turn_id",
        "turn.role",
        "turn.contents[1].tool_call.tool_name",
        "turn.contents[1].tool_call.arguments_json",
        "time_zone",
    }
    assert found["turn.role"] == (
        "is not one of its values: choose ROLE_SYSTEM, ROLE_DEVELOPER, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL"
    )
    assert found["turn.turn_id"] == "is not an id: give 1 to 128 characters of A-Z a-z 0-9 . _ : @ | + = / -"


@pytest.mark.parametrize("length", [1, 128])
async def test_ids_of_1_to_128_characters_pass(length, run, valid):
    valid.turn.turn_id = "x" * length
    await run(valid)


async def test_violations_never_quote_what_was_sent(run, valid):
    valid.session.tenant_id = "canary tenant"
    valid.turn.contents.add().tool_result.CopyFrom(
        types_pb2.ToolResult(call_id="canary call", tool_name="t", result_json='{"canary')
    )
    valid.time_zone = "canary zone"
    assert "canary" not in str(await violations(run, valid))


@pytest.mark.parametrize("zone", ["", "UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata"])
async def test_time_zones_by_their_iana_names_pass(zone, run, valid):
    valid.time_zone = zone
    await run(valid)


@pytest.mark.parametrize(
    "zone", ["Europe", "../../etc/passwd", "/etc/localtime", "CEST+2x", "a" * 60, "Europe/Bérlin"]
)
async def test_other_time_zones_are_refused(zone, run, valid):
    valid.time_zone = zone
    assert (await violations(run, valid))["time_zone"].endswith("such as Europe/Berlin")


@pytest.mark.parametrize(
    ("seconds", "nanos"), [(-62_135_596_800, 0), (253_402_300_799, 0), (2**62, 0), (0, -1), (0, 10**9)]
)
async def test_instants_that_no_calendar_can_hold_are_refused(seconds, nanos, run, valid):
    valid.turn.occur_time.seconds, valid.turn.occur_time.nanos = seconds, nanos
    assert set(await violations(run, valid)) == {"turn.occur_time"}


@pytest.mark.parametrize("seconds", [-62_135_596_800 + 86_400, 253_402_300_799 - 86_400, 0])
async def test_instants_within_the_calendar_pass(seconds, run, valid):
    valid.turn.occur_time.seconds = seconds
    await run(valid)


async def test_json_of_tools_is_checked_in_bytes_too(run):
    request = prefix_pb2.RegisterPrefixRevisionRequest(
        tenant_id="acme", prefix_id="p", text="You help.", request_id=REQUEST_ID
    )
    request.tools.add(name="lookup", definition_json=b"[1]")
    request.tools.add(name="other", definition_json=b"\xff{}")
    found = await violations(run, request)
    assert found["tools[0].definition_json"] == "is JSON, but not an object: wrap it in {}"
    assert found["tools[1].definition_json"] == "is not valid UTF-8 at byte 0: encode it as UTF-8"


@pytest.mark.parametrize("levels", [1, 32])
def test_json_of_32_levels_is_accepted(levels):
    assert json.dumps(parse_json("[" * levels + "]" * levels)) == "[" * levels + "]" * levels
    assert parse_json('{"a":' * levels + "1" + "}" * levels)


@pytest.mark.parametrize("levels", [33, 500, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_deeper_json_is_refused(levels, opening, closing):
    with pytest.raises(JsonFault, match="nested too deep"):
        parse_json(opening * levels + "1" + closing * levels)


def test_an_empty_list_is_a_level_too():
    with pytest.raises(JsonFault, match="nested too deep"):
        parse_json("[" * 33 + "]" * 33)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON at line 1, column 2"),
        ("", "not valid JSON"),
        ('{"a":1,"a":2}', "a name twice"),
        ("9007199254740992", "beyond 2^53"),
        ("1" * 5000, "beyond 2^53"),
        ("1e400", "too large for a double"),
        ("NaN", "NaN or Infinity"),
        ("-Infinity", "NaN or Infinity"),
        ('"\\u0000"', "NUL"),
        ('{"\\u0000":1}', "NUL"),
        ('"\\ud800"', "surrogate"),
        ('["\\udc00x"]', "surrogate"),
        ('"a\nb"', "not valid JSON"),
        ("[1] x", "not valid JSON"),
    ],
)
def test_json_without_a_canonical_form_is_refused(text, words):
    with pytest.raises(JsonFault) as refused:
        parse_json(text)
    assert words in str(refused.value)


@pytest.mark.parametrize("text", ['"\\ud83d\\ude00 漢"', "-9007199254740991", "1.5e3", '{"a":[true,null]}'])
def test_plain_json_is_parsed(text):
    assert parse_json(text) == json.loads(text)


async def test_lists_of_messages_are_checked_item_by_item(run):
    request = session_pb2.RecordTurnsRequest(session=SESSION, request_id=REQUEST_ID)
    for index in range(3):
        turn = request.turns.add(turn_id=f"t{index}", role="ROLE_TOOL")
        result = "{}" if index != 1 else "{]"
        turn.contents.add().tool_result.CopyFrom(
            types_pb2.ToolResult(call_id="c", tool_name="t", result_json=result)
        )
    assert set(await violations(run, request)) == {"turns[1].contents[0].tool_result.result_json"}


async def test_a_missing_message_is_named_as_required(run):
    found = await violations(run, fact_pb2.ListFactsRequest())
    assert found["user"] == "is required: set it"


def test_the_pure_python_protobuf_is_refused(monkeypatch):
    assert_safe_protobuf()
    monkeypatch.setattr("google.protobuf.internal.api_implementation.Type", lambda: "python")
    with pytest.raises(UnsafeProtobufError, match="PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"):
        assert_safe_protobuf()


async def test_every_rule_names_its_remedy_and_no_map_key_is_repeated(run, valid):
    valid.turn.contents.add()
    valid.formats.extend([1, 1])
    valid.labels["canary key"] = "v"
    valid.request_id = "zz"
    valid.caller_breakpoints = 99
    found = await violations(run, valid)
    assert found["turn.contents[1].content"] == "is required: set one of text, tool_call, tool_result"
    assert found["formats"] == "holds an item twice: give each once"
    assert found["labels[*]"] == "does not have its form: write it to match ^[a-z0-9_.-]{1,63}$"
    assert found["request_id"].startswith("is not a UUID: send a fresh one")
    assert found["caller_breakpoints"] == "must be greater than or equal to 0 and less than or equal to 4"


async def test_empty_lists_and_names_are_called_empty(run):
    found = await violations(run, session_pb2.RecordTurnsRequest(session=SESSION, request_id=REQUEST_ID))
    assert found["turns"] == "is empty: give at least one"
    assert (await violations(run, fact_pb2.GetFactRequest()))["name"] == "is empty: set it"
