"""grpc.health.v1: whether the server takes calls, overall and per service, all alike.

Our own servicer, because the one of grpcio-health-checking keeps its watchers through a drain, which then never ends
by itself, and answers errors without details.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2

from gateway.errors import MalformedRequest, NotFound
from gateway.server.call import Call
from gateway.server.pipeline import RpcHandler
from gateway.server.status import abort

SERVICE = health_pb2.DESCRIPTOR.services_by_name["Health"]

_Response = health_pb2.HealthCheckResponse


class Health:
    """SERVING from `set_serving(True)` on; NOT_SERVING for good after `stop`, which also ends all watches."""

    def __init__(self, services: Iterable[str]) -> None:
        self._names = frozenset(services) | {""}
        self._serving = False
        self._stopped = False
        self._changed = asyncio.Event()

    def set_serving(self, serving: bool) -> None:
        """Say whether calls are welcome."""
        if serving != self._serving and not self._stopped:
            self._serving = serving
            self._notify()

    def stop(self) -> None:
        """The server is going away."""
        self._serving, self._stopped = False, True
        self._notify()

    def _notify(self) -> None:
        """Wake all watchers: each waits for the event that was there when it looked."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _status(self, service: str) -> "health_pb2.HealthCheckResponse":
        if service not in self._names:
            return _Response(status=_Response.SERVICE_UNKNOWN)
        return _Response(status=_Response.SERVING if self._serving else _Response.NOT_SERVING)

    async def Check(  # noqa: N802  the RPC's name
        self, request: "health_pb2.HealthCheckRequest", _: Call
    ) -> "health_pb2.HealthCheckResponse":
        """The status now; an unknown service is NOT_FOUND, as the protocol wants it."""
        if request.service not in self._names:
            raise NotFound
        return self._status(request.service)

    async def List(  # noqa: N802  the RPC's name
        self, _: "health_pb2.HealthListRequest", __: Call
    ) -> "health_pb2.HealthListResponse":
        """The status of every service."""
        return health_pb2.HealthListResponse(statuses={name: self._status(name) for name in self._names})

    async def watch(self, body: bytes, context: "grpc.aio.ServicerContext[Any, Any]") -> None:
        """The status now, and again at every change, until the client or the server goes."""
        try:
            service = health_pb2.HealthCheckRequest.FromString(body).service
        except DecodeError:
            await abort(context, MalformedRequest())
            return
        last = None
        while True:
            # All three as of one instant: a stop while the status is being written must still be told.
            changed, status, stopped = self._changed, self._status(service), self._stopped
            if status != last:
                await context.write(status.SerializeToString())
                last = status
            if stopped:
                return
            await changed.wait()

    def watch_handler(self) -> RpcHandler:
        """The handler of `Watch`."""
        return grpc.unary_stream_rpc_method_handler(self.watch)
