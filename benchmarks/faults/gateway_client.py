"""A client of one gateway that comes back by itself after the gateway was away."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final

import grpc

from muniment.v1 import (
    context_pb2_grpc,
    fact_pb2_grpc,
    history_pb2_grpc,
    policy_service_pb2_grpc,
    prefix_pb2_grpc,
    session_pb2_grpc,
    trace_pb2_grpc,
)

# A retry of the transport's own would hide a failure, and its usual pause of up to two minutes a recovery.
_OPTIONS: Final = (
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.max_receive_message_length", 64 << 20),
    # Two clients of one process would otherwise share a connection to the same address.
    ("grpc.use_local_subchannel_pool", 1),
)


class GatewayClient:
    """The stubs of one gateway."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=_OPTIONS)
        self.context = context_pb2_grpc.ContextServiceStub(self._channel)
        self.facts = fact_pb2_grpc.FactServiceStub(self._channel)
        self.history = history_pb2_grpc.HistoryServiceStub(self._channel)
        self.policies = policy_service_pb2_grpc.PolicyServiceStub(self._channel)
        self.prefixes = prefix_pb2_grpc.PrefixServiceStub(self._channel)
        self.sessions = session_pb2_grpc.SessionServiceStub(self._channel)
        self.traces = trace_pb2_grpc.TraceServiceStub(self._channel)

    async def close(self) -> None:
        """Let go of the connection."""
        await self._channel.close()


@asynccontextmanager
async def clients(addresses: Iterable[str]) -> AsyncIterator[tuple[GatewayClient, ...]]:
    """A client of each for the time of a `with`."""
    made = tuple(map(GatewayClient, addresses))
    try:
        yield made
    finally:
        for client in made:
            await client.close()
