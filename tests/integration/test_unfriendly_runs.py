"""Unfriendly runs: everybody at once, killed under load, transport refusals of a real server process."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import grpc
import pytest

from gateway.client.client import Client, connect
from muniment.v1 import context_pb2, fact_pb2, session_pb2, trace_pb2, types_pb2
from tests.integration.gateway_process import ROOT, running_gateway
from tests.integration.in_process import gateway_at
from tests.integration.requests import TENANT, context_request, fact, facts_request
from tests.integration.talk import Person, called, facts, returned


@pytest.fixture
async def ada(tmp_path: Path) -> Any:
    async with gateway_at(tmp_path) as gateway:
        await gateway.use_desk()
        yield Person(gateway)


async def test_one_turn_twenty_times_at_once_is_one_answer(ada: Person):
    request = ada.request("The same question?", turn_id="same").SerializeToString()
    answers = await asyncio.gather(*(ada.gateway.raw("AssembleContext", request) for _ in range(20)))
    assert len({parsed(answer).SerializeToString(deterministic=True) for answer in answers}) == 1
    listed = trace_pb2.ListTracesRequest(tenant_id=TENANT, user_id="ada")
    assert len((await ada.gateway.call("ListTraces", listed)).traces) == 1


def parsed(answer: bytes) -> context_pb2.AssembleContextResponse:
    return context_pb2.AssembleContextResponse.FromString(answer)


async def test_of_twenty_bodies_under_one_turn_id_one_is_answered(ada: Person):
    requests = [ada.request(f"Question {n}?", turn_id="clash") for n in range(20)]
    codes = Counter(await asyncio.gather(*(ada.gateway.code("AssembleContext", r) for r in requests)))
    assert codes == {"OK": 1, "ALREADY_EXISTS": 19}


async def test_turns_of_one_session_at_once_lose_no_turn_and_mix_no_slots(ada: Person):
    others = [Person(ada.gateway, f"other{n}") for n in range(3)]
    await asyncio.gather(
        *(ada.ask(f"ada {n}?", turn_id=f"t{n}") for n in range(20)),
        *(other.ask(f"{other.user_id} {n}?", turn_id=f"t{n}") for other in others for n in range(5)),
    )
    session = await ada.gateway.call("GetSession", session_pb2.GetSessionRequest(session=ada.session()))
    assert {turn.turn_id for turn in session.turns} == {f"t{n}" for n in range(20)}
    remembered = [q.text for q in session.session.slots.recent_questions]
    assert len(remembered) == 3
    assert all(text.startswith("ada ") for text in remembered)


async def test_facts_of_one_key_at_once_leave_one_current(ada: Person):
    await asyncio.gather(*(ada.state("note", f"value {n}") for n in range(20)))
    answer = await ada.ask("What holds?")
    assert facts(answer).count("- note:") == 1
    listed = fact_pb2.ListFactsRequest(user=ada.user, include_retired=True)
    states = Counter(f.state for f in (await ada.gateway.call("ListFacts", listed)).facts)
    assert states == {fact_pb2.FACT_STATE_CURRENT: 1, fact_pb2.FACT_STATE_SUPERSEDED: 19}


async def test_a_session_that_ends_while_it_is_asked_is_whole_or_new(ada: Person):
    await ada.ask("First?", turn_id="t0")
    await ada.record(called("a", "c"), returned("r", "c"))
    end = session_pb2.EndSessionRequest(session=ada.session())
    asked = [ada.request(f"Question {n}?", turn_id=f"q{n}") for n in range(8)]
    requests: list[tuple[str, Any]] = [("AssembleContext", request) for request in asked]
    requests[4:4] = [("EndSession", end), ("EndSession", end)]
    codes = await asyncio.gather(*(ada.gateway.code(method, request) for method, request in requests))
    assert set(codes) <= {"OK", "ABORTED"}
    assert (await ada.ask("Still there?", turn_id="last")).prompt.messages


def test_transport_refusals_and_short_deadlines_of_a_real_server(tmp_path: Path):
    with running_gateway(tmp_path) as client:
        assert refused(client, "/muniment.v1.ContextService/Nope", b"") == ("UNIMPLEMENTED", None)
        large = bytes((4 << 20) + 1)
        assert refused(client, "/muniment.v1.HistoryService/ImportHistory", large)[0] == "RESOURCE_EXHAUSTED"
        ask, body = "/muniment.v1.ContextService/AssembleContext", context_request().SerializeToString()
        assert refused(client, ask, bytes((1 << 20) + 1))[0] == "RESOURCE_EXHAUSTED"
        assert refused(client, ask, body, metadata=(("x", "y" * 9000),))[0] == "RESOURCE_EXHAUSTED"
        assert refused(client, ask, body, timeout=0.0005)[0] == "DEADLINE_EXCEEDED"
        assert refused(client, ask, b"\xff")[0] == "INVALID_ARGUMENT"
        # None of it did any harm.
        answer = client.call(client.context.AssembleContext, context_request())
        assert answer.prompt.messages


def refused(client: Client, path: str, body: bytes, **options: Any) -> tuple[str, str | None]:
    """The code of a call of bytes that must fail, and whether it carries details."""
    with grpc.insecure_channel(client.address) as channel:
        call: Any = channel.unary_unary(path)
        with pytest.raises(grpc.RpcError) as caught:
            call(body, **options)
    error: Any = caught.value
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
    return error.code().name, details and "details"


@contextmanager
def killable(data_dir: Path) -> Iterator[tuple[Client, Any]]:
    """A server process that is not asked to drain."""
    command = [
        sys.executable,
        "-m",
        "gateway.cli",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data-dir",
        str(data_dir),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        with connect(address) as client:
            assert client.wait_until_serving(20.0)
            yield client, process
        process.kill()


class Load:
    """Callers that ask and state facts until they are stopped; `acknowledged` is what they were answered."""

    def __init__(self, client: Client) -> None:
        self._client, self._stop = client, threading.Event()
        self.acknowledged: dict[str, tuple[str, str]] = {}
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(4)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, caller: int) -> None:
        user = types_pb2.UserRef(tenant_id=TENANT, user_id=f"u{caller}")
        session = types_pb2.SessionRef(tenant_id=TENANT, user_id=user.user_id, session_id="s")
        offered = facts_request(fact("current_project", "moves house"), user=user)
        offered.policy = "policies/memory"
        for number in range(100_000):
            if self._stop.is_set():
                return
            try:
                answer = self._client.context.AssembleContext(
                    context_request("Hello?", f"t{number}", session)
                )
                written = self._client.facts.RecordFacts(offered)
            except grpc.RpcError:
                return
            self.acknowledged[answer.trace] = (answer.prompt.prompt_sha256, written.results[0].fact.name)


def test_what_a_killed_server_acknowledged_is_there_and_replays_identically(tmp_path: Path):
    acknowledged: dict[str, tuple[str, str]] = {}
    for _ in range(2):
        with killable(tmp_path) as (client, process), Load(client) as load:
            while len(load.acknowledged) < 30:
                assert process.poll() is None
            process.send_signal(signal.SIGKILL)
        acknowledged |= load.acknowledged
    with running_gateway(tmp_path) as client:
        for name, (digest, fact_name) in acknowledged.items():
            replay = client.call(client.traces.ReplayTrace, trace_pb2.ReplayTraceRequest(name=name))
            assert replay.identical
            assert replay.recorded_sha256 == digest
            found = client.call(client.facts.GetFact, fact_pb2.GetFactRequest(name=fact_name)).fact
            assert found.text == "moves house"


async def test_s1_a_storm_of_cancelled_calls_hands_nobody_anothers_answer(ada: Person):
    people = [Person(ada.gateway, f"user{n}") for n in range(10)]
    for person in people:
        await person.state("note", f"belongs to {person.user_id}.")
    asked = [
        (person, person.request(f"{person.user_id} asks {n}?", turn_id=f"t{n}").SerializeToString())
        for n in range(20)
        for person in people
    ]
    calls = [asyncio.ensure_future(ada.gateway.raw("AssembleContext", body)) for _, body in asked]
    for place, call in enumerate(calls):
        if place % 3 == 0:
            await asyncio.sleep(0)
            call.cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    told = [
        (person, answer)
        for (person, _), answer in zip(asked, answers, strict=True)
        if isinstance(answer, bytes)
    ]
    assert 0 < len(told) < len(asked)
    again = [(person, await ada.gateway.raw("AssembleContext", body)) for person, body in asked]
    for person, answer in (*told, *again):
        text = str(parsed(answer))
        assert [p.user_id for p in people if f"belongs to {p.user_id}." in text] == [person.user_id]
        assert [p.user_id for p in people if f"{p.user_id} asks" in text] == [person.user_id]


async def test_reads_and_writes_at_once_answer_in_time(ada: Person):
    """SQLite as people report it: no "database is locked", whoever reads and writes."""
    people = [Person(ada.gateway, f"user{n}") for n in range(8)]
    async with asyncio.timeout(30):
        for round_ in range(5):
            await asyncio.gather(
                *(
                    p.remember(f"s{round_}", *(f"entry {n} of {p.user_id}" for n in range(50)))
                    for p in people
                ),
                *(p.state("note", f"round {round_}") for p in people),
                *(p.ask(f"What about entry {round_}?") for p in people),
                *(p.record(called(f"a{round_}", f"c{round_}")) for p in people),
            )
    for person in people:
        assert "round 4" in facts(await person.ask("What holds?"))
