"""One channel to a gateway, the stubs of all its services, and one way to call them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import grpc
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc

from gateway.client.errors import CallError
from muniment.v1.context_pb2_grpc import ContextServiceStub
from muniment.v1.fact_pb2_grpc import FactServiceStub
from muniment.v1.history_pb2_grpc import HistoryServiceStub
from muniment.v1.policy_service_pb2_grpc import PolicyServiceStub
from muniment.v1.prefix_pb2_grpc import PrefixServiceStub
from muniment.v1.session_pb2_grpc import SessionServiceStub
from muniment.v1.trace_pb2_grpc import TraceServiceStub

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)

DEFAULT_ADDRESS = "127.0.0.1:7463"
DEFAULT_TIMEOUT = 10.0
"""Seconds that a call may take: the longest that the server grants."""

_MAX_ANSWER_BYTES = 64 << 20
_PROBE_SECONDS = 0.02

# A retry of grpc's own would hide that a gateway is unwell, and a proxy of the environment is not for loopback.
_OPTIONS = (
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", _MAX_ANSWER_BYTES),
)


class Client:
    """The services of one gateway. Not for sharing between processes; threads may share it."""

    def __init__(self, channel: grpc.Channel, address: str) -> None:
        self._channel = channel
        self.address = address
        self.context = ContextServiceStub(channel)
        self.sessions = SessionServiceStub(channel)
        self.facts = FactServiceStub(channel)
        self.history = HistoryServiceStub(channel)
        self.policies = PolicyServiceStub(channel)
        self.prefixes = PrefixServiceStub(channel)
        self.traces = TraceServiceStub(channel)
        self._health = health_pb2_grpc.HealthStub(channel)

    def call(
        self, method: "grpc.UnaryUnaryMultiCallable[Q, A]", request: Q, timeout: float = DEFAULT_TIMEOUT
    ) -> A:
        """Call a method of one of the stubs; `timeout` is in seconds. Raises `CallError`."""
        try:
            return method(request, timeout=timeout)
        except grpc.RpcError as error:
            raise CallError.of(error, self.address) from None

    def wait_until_serving(self, seconds: float) -> bool:
        """Whether the gateway says within the time that it is ready."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._is_serving():
                return True
            time.sleep(_PROBE_SECONDS)
        return False

    def _is_serving(self) -> bool:
        try:
            answer = self._health.Check(health_pb2.HealthCheckRequest(), timeout=1.0)
        except grpc.RpcError:
            return False
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


@contextmanager
def connect(address: str = DEFAULT_ADDRESS) -> Iterator[Client]:
    """A client for the time of a `with`. No connection is made before the first call."""
    with grpc.insecure_channel(address, options=_OPTIONS) as channel:
        yield Client(channel, address)
