"""SIGTERM to a server in a process of its own: what runs is finished, nothing new is begun, the process ends."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from muniment.v1 import context_pb2, context_pb2_grpc, types_pb2

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import asyncio
from gateway.config import ListenAddress
from gateway.logs import configure_logs
from gateway.server import Server, ServerOptions, Service, run, serve_until_signalled
from muniment.v1 import context_pb2

class Slow:
    async def AssembleContext(self, request, call):
        await asyncio.sleep(int(request.turn.turn_id) / 1000)
        return context_pb2.AssembleContextResponse(trace="done")
    async def ExplainContext(self, request, call): return context_pb2.ExplainContextResponse()
    async def CountTokens(self, request, call): return context_pb2.CountTokensResponse()
    async def ReportUsage(self, request, call): return context_pb2.ReportUsageResponse()

async def ready():
    return True

async def main():
    service = Service(context_pb2.DESCRIPTOR.services_by_name["ContextService"], Slow())
    server = Server(ServerOptions(ListenAddress("127.0.0.1", 0)), [service], ready)
    await serve_until_signalled(server, lambda port: print(port, flush=True))

configure_logs()
run(main())
"""


@pytest.fixture
def process() -> Iterator["subprocess.Popen[str]"]:
    path = f"{ROOT}:{ROOT / 'proto'}"
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"},
    )
    yield started
    started.kill()
    started.communicate()


def wait_for(milliseconds: int) -> context_pb2.AssembleContextRequest:
    return context_pb2.AssembleContextRequest(
        session=types_pb2.SessionRef(tenant_id="acme", user_id="u"),
        turn=types_pb2.Turn(
            turn_id=str(milliseconds), role=types_pb2.ROLE_USER, contents=[types_pb2.Content(text="q")]
        ),
        request_id="6f1c2a00-6f1c-4a00-8f1c-6f1c2a006f1c",
    )


@pytest.mark.timeout(40)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_drain_fails_no_running_call_of_up_to_eight_seconds(number, process: "subprocess.Popen[str]"):
    assert process.stdout is not None
    port = int(await asyncio.to_thread(process.stdout.readline))
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = context_pb2_grpc.ContextServiceStub(channel)
        longest = 8_000 if number == signal.SIGTERM else 500
        calls = [stub.AssembleContext(wait_for(ms), timeout=9.5) for ms in (200, longest // 2, longest)]
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        process.send_signal(number)
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        answers = await asyncio.gather(*calls)
        assert [answer.trace for answer in answers] == ["done"] * 3
    assert await asyncio.to_thread(process.wait, 5) == 0
    assert process.stderr is not None
    log = await asyncio.to_thread(process.stderr.read)
    assert [line.split('"event": "')[1].split('"')[0] for line in log.splitlines()] == [
        "serving",
        "draining",
        "stopped",
    ]


@pytest.mark.timeout(40)
async def test_under_load_no_call_begun_before_the_signal_fails_and_later_ones_are_told_why(
    process: "subprocess.Popen[str]",
):
    assert process.stdout is not None
    port = int(await asyncio.to_thread(process.stdout.readline))
    ended: list[tuple[float, str]] = []
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = context_pb2_grpc.ContextServiceStub(channel)

        async def call_on(milliseconds: int) -> None:
            outcome = "OK"
            while outcome == "OK":
                begun = time.monotonic()
                try:
                    await stub.AssembleContext(wait_for(milliseconds), timeout=9)
                except grpc.aio.AioRpcError as error:
                    outcome = f"{error.code().name} {error.details()}"
                ended.append((begun, outcome))

        callers = [asyncio.create_task(call_on(ms)) for ms in (1, 1, 1, 5, 5, 20, 100, 300)]
        await asyncio.sleep(0.5)
        signalled = time.monotonic()
        process.send_signal(signal.SIGTERM)
        await asyncio.gather(*callers)
    assert sum(begun < signalled for begun, _ in ended) > 50
    assert {outcome for begun, outcome in ended if begun < signalled} == {"OK"}
    refusals = {outcome for begun, outcome in ended if begun >= signalled} - {"OK"}
    assert all(refusal.startswith("UNAVAILABLE the server is shutting down") for refusal in refusals)
    assert await asyncio.to_thread(process.wait, 5) == 0
