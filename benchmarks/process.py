"""Starts and ends the server under test, and connects to it."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from benchmarks.server import ANSWER, ECHO_SERVICE, READY, SET
from muniment.v1 import (
    context_pb2,
    context_pb2_grpc,
    fact_pb2_grpc,
    history_pb2_grpc,
    policy_service_pb2_grpc,
    prefix_pb2_grpc,
    session_pb2_grpc,
)

_STOP_SECONDS = 20.0

Request = context_pb2.AssembleContextRequest
Response = context_pb2.AssembleContextResponse


class ServerFailed(RuntimeError):
    """The server under test did not start."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the gateway and the echo listen on loopback."""

    gateway: int
    echo: int


class Connection:
    """A client's side: the stubs that a benchmark needs, and the echo with the same types as AssembleContext.

    The client encodes and decodes the same messages for both, so that their ratio is about the server.
    """

    def __init__(self, gateway: grpc.aio.Channel, echo: grpc.aio.Channel) -> None:
        self.context = context_pb2_grpc.ContextServiceStub(gateway)
        self.facts = fact_pb2_grpc.FactServiceStub(gateway)
        self.history = history_pb2_grpc.HistoryServiceStub(gateway)
        self.policies = policy_service_pb2_grpc.PolicyServiceStub(gateway)
        self.prefixes = prefix_pb2_grpc.PrefixServiceStub(gateway)
        self.sessions = session_pb2_grpc.SessionServiceStub(gateway)
        self._echo = echo.unary_unary(
            f"/{ECHO_SERVICE}/{ANSWER}", Request.SerializeToString, Response.FromString
        )
        self._set: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = echo.unary_unary(f"/{ECHO_SERVICE}/{SET}")

    async def assemble(self, request: Request) -> Response:
        """AssembleContext."""
        return await self.context.AssembleContext(request)

    async def echo(self, request: Request) -> Response:
        """The echo."""
        return await self._echo(request)

    async def echo_with(self, answer: Response) -> None:
        """Have the echo answer with this."""
        await self._set(answer.SerializeToString())


@contextmanager
def running_server(data_dir: Path) -> Iterator[Ports]:
    """The server as a process of its own over a new data folder. Raises `ServerFailed`."""
    data_dir.mkdir()
    command = [sys.executable, "-m", "benchmarks.server", str(data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith(READY):
                raise ServerFailed("the server under test did not start: its messages are above")
            yield Ports(*map(int, line.removeprefix(READY).split()))
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


@asynccontextmanager
async def connected(ports: Ports) -> AsyncIterator[Connection]:
    """A connection for the time of a `with`, on channels of its own."""
    gateway = grpc.aio.insecure_channel(f"127.0.0.1:{ports.gateway}")
    async with gateway, grpc.aio.insecure_channel(f"127.0.0.1:{ports.echo}") as echo:
        yield Connection(gateway, echo)
