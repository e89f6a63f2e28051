"""Both sides of each limit that is not an annotation, through the API: what fits is taken, one more is told."""

import json
from collections.abc import Callable

import pytest
from google.protobuf.message import Message

from gateway.server.pipeline import MAX_IMPORT_BYTES, MAX_REQUEST_BYTES
from muniment.v1 import context_pb2, fact_pb2, history_pb2, prefix_pb2, session_pb2, types_pb2
from tests.integration.in_process import Gateway
from tests.integration.requests import MODEL, TENANT
from tests.integration.talk import Person, called, returned, said
from tests.security.carriers import WINDOW


def fill(request: Message, put: Callable[[str], None], size: int) -> None:
    """Makes the request as long on the wire as `size`, by letters that `put` puts somewhere into it."""
    put("x" * 65_000)
    put("x" * (65_000 + size - request.ByteSize()))
    assert request.ByteSize() == size


@pytest.mark.parametrize(
    ("size", "code"), [(MAX_REQUEST_BYTES, "OK"), (MAX_REQUEST_BYTES + 1, "RESOURCE_EXHAUSTED")]
)
async def test_a_request_is_a_mebibyte_at_most(gateway: Gateway, size: int, code: str):
    texts = ["word " * 32_000] * 6 + [""]
    request = context_pb2.CountTokensRequest(tenant_id=TENANT, model=MODEL, texts=texts)
    fill(request, lambda text: request.texts.__setitem__(-1, text), size)
    assert await gateway.code("CountTokens", request) == code


@pytest.mark.parametrize(
    ("size", "code"), [(MAX_IMPORT_BYTES, "OK"), (MAX_IMPORT_BYTES + 1, "RESOURCE_EXHAUSTED")]
)
async def test_an_import_is_four_mebibytes_at_most(gateway: Gateway, ada: Person, size: int, code: str):
    turns = [said("word " * 13_000, f"t{n}") for n in range(65)]
    past = history_pb2.PastSession(session_id="old", turns=turns)
    past.start_time.seconds = 1_790_000_000
    request = history_pb2.ImportHistoryRequest(user=ada.user, sessions=[past], validate_only=True)
    last = request.sessions[0].turns[-1].contents[0]
    fill(request, lambda text: setattr(last, "text", text), size)
    assert await gateway.code("ImportHistory", request) == code


@pytest.mark.parametrize(("extra", "reason"), [(0, ""), (1, "TOO_LARGE")])
@pytest.mark.parametrize("pieces", [2, 3, 64])
async def test_a_turn_is_64_kib_at_most_however_it_is_cut(
    gateway: Gateway, ada: Person, pieces: int, extra: int, reason: str
):
    sizes = [65_536 // pieces] * pieces
    sizes[0] += 65_536 - sum(sizes) + extra
    contents = [types_pb2.Content(text=("word " * size)[:size]) for size in sizes]
    turn = types_pb2.Turn(turn_id="t", role=types_pb2.ROLE_USER, contents=contents)
    session = session_pb2.RecordTurnsRequest(session=ada.session(), turns=[turn])
    asked = context_pb2.AssembleContextRequest(session=ada.session("s2"), turn=turn, model=WINDOW)
    asked.budget.max_input_tokens = 200_000
    for method, request in (("RecordTurns", session), ("AssembleContext", asked)):
        if reason:
            refused = await gateway.refusal(method, request)
            assert (refused.code, refused.reason) == ("INVALID_ARGUMENT", reason)
            assert refused.info.metadata["limit_bytes"] == "65536"
            assert refused.info.metadata["actual_bytes"] == "65537"
        else:
            assert await gateway.code(method, request) == "OK"


@pytest.mark.parametrize("size", [65_536, 65_537])
async def test_arguments_and_results_are_64_kib_at_most(gateway: Gateway, ada: Person, size: int):
    await ada.ask("Look it up.", turn_id="q")
    text = json.dumps("x" * (size - 2))
    assert len(text) == size
    arguments = '{"x":"' + "x" * (size - 8) + '"}'
    assert len(arguments) == size
    call = session_pb2.RecordTurnsRequest(
        session=ada.session(), turns=[called("a", "c", arguments=arguments)]
    )
    fits = size == 65_536
    assert await gateway.code("RecordTurns", call) == ("OK" if fits else "INVALID_ARGUMENT")
    await ada.record(called("b", "d"))
    result = session_pb2.RecordTurnsRequest(session=ada.session(), turns=[returned("r", "d", result=text)])
    assert await gateway.code("RecordTurns", result) == ("OK" if fits else "INVALID_ARGUMENT")


@pytest.mark.parametrize(("levels", "code"), [(32, "OK"), (33, "INVALID_ARGUMENT")])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
async def test_json_is_32_levels_deep_at_most_wherever_it_comes(
    gateway: Gateway, ada: Person, levels: int, code: str, opening: str, closing: str
):
    inner = opening * (levels - 1) + "1" + closing * (levels - 1)
    await ada.ask("Look it up.", turn_id="q")
    call = session_pb2.RecordTurnsRequest(
        session=ada.session(), turns=[called("a", "c", arguments=f'{{"x":{inner}}}')]
    )
    assert await gateway.code("RecordTurns", call) == code
    tool = types_pb2.ToolDefinition(name="t", definition_json=f'{{"x":{inner}}}'.encode())
    prefix = prefix_pb2.RegisterPrefixRevisionRequest(
        tenant_id=TENANT, prefix_id="deep", text="x", tools=[tool]
    )
    assert await gateway.code("RegisterPrefixRevision", prefix) == code


@pytest.mark.parametrize(("text", "code"), [("é" * 200, "OK"), ("é" * 201, "INVALID_ARGUMENT")])
async def test_a_value_is_200_characters_at_most(gateway: Gateway, ada: Person, text: str, code: str):
    offered = fact_pb2.Fact(
        key="note", text=text, origin=types_pb2.FACT_ORIGIN_STATED, source="s", writer="w"
    )
    assert (
        await gateway.code("RecordFacts", fact_pb2.RecordFactsRequest(user=ada.user, facts=[offered])) == code
    )


@pytest.mark.parametrize(("text", "code"), [("é" * 512, "OK"), ("é" * 512 + "x", "INVALID_ARGUMENT")])
async def test_a_statement_is_1_kib_at_most(gateway: Gateway, ada: Person, text: str, code: str):
    offered = fact_pb2.Fact(
        key="wish", statement=text, origin=types_pb2.FACT_ORIGIN_STATED, source="s", writer="w"
    )
    assert (
        await gateway.code("RecordFacts", fact_pb2.RecordFactsRequest(user=ada.user, facts=[offered])) == code
    )


@pytest.mark.parametrize(("size", "code"), [(128, "OK"), (129, "INVALID_ARGUMENT")])
async def test_an_id_is_128_characters_at_most_and_of_any_of_its_alphabet(
    gateway: Gateway, size: int, code: str
):
    alphabet = "AZaz09._:@|+=/-"
    user_id = (alphabet * 9)[:size]
    person = Person(gateway, user_id, tenant_id=user_id)
    assert await gateway.code("AssembleContext", person.request("Hello?", user_id, user_id)) == code
    if code == "OK":
        answer = await person.ask("Again?", user_id)
        assert await person.replays(answer)
        assert "Hello?" in str(answer.prompt)
