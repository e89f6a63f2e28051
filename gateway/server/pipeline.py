"""Binds servicers to gRPC through the middlewares, in the one order that is right."""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from gateway.server.authentication import authentication
from gateway.server.call import Call, Handler, Method, Middleware
from gateway.server.deadlines import deadline, deadline_for
from gateway.server.failures import errors
from gateway.server.idempotency import idempotency
from gateway.server.limits import Limits
from gateway.server.tenancy import tenancy
from gateway.server.tracing import tracing
from gateway.server.validation import validation, warm

MAX_REQUEST_BYTES = 1 << 20
MAX_IMPORT_BYTES = 4 << 20
_LARGE_METHODS = frozenset({"ImportHistory"})

# A servicer's methods take the request of their own type.
ServicerMethod = Callable[[Any, Call], Awaitable[Message | bytes]]
RpcHandler: TypeAlias = "grpc.RpcMethodHandler[bytes, bytes]"


@dataclass(frozen=True, slots=True)
class Service:
    """A servicer and what it serves: `async def <Method>(self, request, call: Call) -> Message | bytes` for every
    unary method of the descriptor, such as `context_pb2.DESCRIPTOR.services_by_name["ContextService"]`. `streams` has
    the handlers of the streaming ones by name; they decode and map errors by themselves."""

    descriptor: ServiceDescriptor
    servicer: object
    streams: Mapping[str, RpcHandler] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clocks:
    """Where calls get their instant (UTC) and their monotonic seconds from."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic


def standard_middlewares(limits: Limits) -> tuple[Middleware, ...]:
    """What every method of ours passes, from the outermost in.

    Telemetry sees the final status; errors maps whatever the others raise; nobody unknown and nothing too large is
    decoded; the deadline bounds decoding too; a tenant is held against the caller's before anything is read.
    """
    return (tracing, errors, authentication, limits, deadline, validation, tenancy, idempotency)


class Pipeline:
    """Wraps each method once, when the server is built. `middlewares` go from the outermost in."""

    def __init__(self, middlewares: Sequence[Middleware], clocks: Clocks | None = None) -> None:
        self._clocks = clocks or Clocks()
        self._middlewares = tuple(middlewares)

    def handlers(self, service: Service) -> dict[str, RpcHandler]:
        """gRPC handlers by path. Raises `TypeError` or `KeyError` where a method is declared and not served."""
        return dict(self._bind(service))

    def _bind(self, service: Service) -> Iterator[tuple[str, RpcHandler]]:
        for descriptor in service.descriptor.methods:
            method = _method(service.descriptor, descriptor)
            if descriptor.client_streaming or descriptor.server_streaming:
                yield method.path, service.streams[method.name]
                continue
            servicer_method = getattr(service.servicer, method.name, None)
            if servicer_method is None:
                kind = type(service.servicer).__name__
                raise TypeError(f"{kind} has no method {method.name}, which {method.service} declares")
            warm(method.request_class)
            handler = self.compose(method, _invoke(servicer_method))
            yield method.path, grpc.unary_unary_rpc_method_handler(self._entrance(method, handler))

    def compose(self, method: Method, innermost: Handler) -> Handler:
        """The middlewares around the innermost handler."""
        handler = innermost
        for middleware in reversed(self._middlewares):
            handler = middleware(method, handler)
        return handler

    def _entrance(
        self, method: Method, handler: Handler
    ) -> Callable[[bytes, "grpc.aio.ServicerContext[Any, Any]"], Awaitable[bytes]]:
        """What gRPC calls. Without a deserializer it hands over the bytes, so that no parser's text gets out."""
        now, monotonic = self._clocks.now, self._clocks.monotonic

        async def enter(body: bytes, context: "grpc.aio.ServicerContext[Any, Any]") -> bytes:
            deadline, by_transport = deadline_for(context.time_remaining(), monotonic)
            return await handler(Call(method, context, body, now(), deadline, by_transport))

        return enter


def _method(service: ServiceDescriptor, descriptor: MethodDescriptor) -> Method:
    limit = MAX_IMPORT_BYTES if descriptor.name in _LARGE_METHODS else MAX_REQUEST_BYTES
    return Method(service.full_name, descriptor.name, GetMessageClass(descriptor.input_type), limit)


def _invoke(servicer_method: ServicerMethod) -> Handler:
    """The innermost handler. A servicer may answer bytes that it, or somebody before it, has encoded."""

    async def invoke(call: Call) -> bytes:
        answer = await servicer_method(call.request, call)
        return answer if isinstance(answer, bytes) else answer.SerializeToString()

    return invoke
