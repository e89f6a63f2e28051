"""The gRPC server: binds the services, says whether it is ready, and stops without failing a call."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import grpc
import structlog

from gateway.config import ListenAddress
from gateway.server import health as health_service
from gateway.server.deadlines import deadline
from gateway.server.failures import errors
from gateway.server.health import Health
from gateway.server.limits import Limits
from gateway.server.pipeline import (
    MAX_IMPORT_BYTES,
    Clocks,
    Pipeline,
    RpcHandler,
    Service,
    standard_middlewares,
)
from gateway.server.reflection import PATH as REFLECTION_PATH
from gateway.server.reflection import Reflection
from gateway.server.validation import assert_safe_protobuf, validation

MAX_METADATA_BYTES = 8 << 10
_POLL_SECONDS = 1.0
_STEP_SECONDS = 0.05
_MOST_WAIT_FOR_PAUSE_SECONDS = 1.0
_FLUSH_SECONDS = 0.2

_log = structlog.stdlib.get_logger("muniment.server")


class AddressUnavailableError(RuntimeError):
    """The address cannot be listened on."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How to serve. `drain_seconds` is above the longest deadline, so that a drain fails no call.

    `under_way_seconds` is for how long calls are still taken once the server was told to stop.
    """

    listen: ListenAddress
    max_concurrent_calls: int = 512
    drain_seconds: float = 12.0
    reuse_port: bool = False
    under_way_seconds: float = 0.3


class Server:
    """One listening server. `ready` says whether the storage works now; it is asked every second."""

    def __init__(
        self,
        options: ServerOptions,
        services: Sequence[Service],
        ready: Callable[[], Awaitable[bool]],
        clocks: Clocks | None = None,
    ) -> None:
        assert_safe_protobuf()
        self._options = options
        self._ready = ready
        self._limits = Limits(options.max_concurrent_calls)
        pipeline = Pipeline(standard_middlewares(self._limits), clocks)
        names = [service.descriptor.full_name for service in services]
        self.health = Health(names)
        self._handlers: dict[str, RpcHandler] = {}
        for service in services:
            self._handlers.update(pipeline.handlers(service))
        self._add_standard_services(names)
        self._server: grpc.aio.Server | None = None
        self._poll: asyncio.Task[None] | None = None

    def _add_standard_services(self, names: Sequence[str]) -> None:
        """Health must answer under any load, and neither belongs to a tenant: they pass fewer middlewares."""
        plain = Pipeline((errors, deadline, validation))
        watch = {"Watch": self.health.watch_handler()}
        self._handlers.update(plain.handlers(Service(health_service.SERVICE, self.health, watch)))
        self._handlers[REFLECTION_PATH] = Reflection([*names, health_service.SERVICE.full_name]).handler()

    async def start(self) -> int:
        """Listen and answer; returns the port. Raises `AddressUnavailableError`."""
        server = grpc.aio.server(
            handlers=[_Handlers(self._handlers)], options=_channel_options(self._options)
        )
        target = self._options.listen.target
        try:
            port = server.add_insecure_port(target)
        except RuntimeError:
            raise AddressUnavailableError(
                f"cannot listen on {target}: stop what listens there, or choose another address with --listen"
            ) from None
        await server.start()
        self._server = server
        await self._check_readiness()
        self._poll = asyncio.create_task(self._watch_readiness())
        return port

    async def stop(self) -> None:
        """Drain: say that we go, finish what was begun, then refuse, and at last let go of the connections.

        gRPC fails a call that has reached the process but not yet our code when it shuts down. So the calls that are
        under way to us are still served for a moment, later ones are refused with a typed UNAVAILABLE, and gRPC is
        shut down in a pause between calls.
        """
        if self._server is None:
            return
        if self._poll is not None:
            self._poll.cancel()
        self.health.stop()
        await asyncio.sleep(self._options.under_way_seconds)
        self._limits.close()
        await _until(lambda: self._limits.running == 0, self._options.drain_seconds)
        await self._pause_between_calls()
        # What is still open now only watches, such as a reflection stream that a client forgot to close.
        await self._server.stop(_FLUSH_SECONDS)

    async def _pause_between_calls(self) -> None:
        before = -1

        def nothing_came() -> bool:
            nonlocal before
            quiet, before = self._limits.arrived == before, self._limits.arrived
            return quiet

        await _until(nothing_came, _MOST_WAIT_FOR_PAUSE_SECONDS)

    async def _watch_readiness(self) -> None:
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            await self._check_readiness()

    async def _check_readiness(self) -> None:
        serving = False
        # Whatever is wrong with the storage, the answer to "are you ready" is no.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_POLL_SECONDS):
                serving = await self._ready()
        self.health.set_serving(serving)


class _Handlers(grpc.GenericRpcHandler):
    """All methods in one table. grpc.aio waits on one future per registered method and looks at all of them at every
    call; with a generic handler there is one."""

    def __init__(self, handlers: Mapping[str, RpcHandler]) -> None:
        self._handlers = handlers

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "RpcHandler | None":
        """The handler of the path, None for an unknown one."""
        return self._handlers.get(handler_call_details.method)


async def _until(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until the condition holds, but no longer than that."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110  a counter has no event, and this runs once per process
                await asyncio.sleep(_STEP_SECONDS)


def _channel_options(options: ServerOptions) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", MAX_IMPORT_BYTES),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_metadata_size", MAX_METADATA_BYTES),
        ("grpc.absolute_max_metadata_size", MAX_METADATA_BYTES),
        ("grpc.so_reuseport", int(options.reuse_port)),
        # A client that vanished is noticed after half a minute; one that pings every 10 s is not refused.
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
    ]
