"""One call on its way through the pipeline: what the middlewares found out and what a servicer may use."""

import hashlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar, cast

import grpc
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from gateway.deadline import Deadline
from gateway.identity import Principal
from storage.ports import Receipt

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Method:
    """A method as the pipeline sees it. `max_bytes` bounds the request's encoding."""

    service: str
    name: str
    request_class: type[Message]
    max_bytes: int

    @property
    def descriptor(self) -> Descriptor:
        """The request's descriptor."""
        return cast("Descriptor", self.request_class.DESCRIPTOR)

    @property
    def path(self) -> str:
        """The path on the wire, such as `/muniment.v1.ContextService/AssembleContext`."""
        return f"/{self.service}/{self.name}"


@dataclass(slots=True, eq=False)
class Call:
    """A running call. Fields without a default are known from the start, the others once their middleware ran.

    `now` is the instant of arrival (UTC): one call has one instant. `ended_by_transport` says that gRPC itself cancels
    the call at the deadline. `tenant_id` is the tenant that the request names.
    `outcome` is the name of the gRPC code that the call ended with, and `reason` the error's.
    """

    method: Method
    # The request and response types differ per method and are erased here.
    context: "grpc.aio.ServicerContext[Any, Any]"
    body: bytes
    now: datetime
    deadline: Deadline
    ended_by_transport: bool = False
    principal: Principal | None = None
    request: Message | None = None
    tenant_id: str = ""
    outcome: str = "OK"
    reason: str = ""
    _body_sha256: bytes = field(default=b"", repr=False)

    @property
    def body_sha256(self) -> bytes:
        """The SHA-256 of the whole request in deterministic encoding: equal for equal messages, whoever encoded them.

        Taken from the message and not from the wire, where maps come in any order.
        """
        if not self._body_sha256:
            encoded = (
                self.request.SerializeToString(deterministic=True) if self.request is not None else self.body
            )
            self._body_sha256 = hashlib.sha256(encoded).digest()
        return self._body_sha256

    def receipt(self, encode: Callable[[T], Message]) -> Receipt[T]:
        """The idempotency of a write: `encode` builds the answer from the result, and its bytes are kept.

        For requests with a `request_id`. When the store knows the id already it raises, and the pipeline answers the
        kept bytes without the servicer's help.
        """
        request_id: str = getattr(self.request, "request_id", "")
        return Receipt(
            tenant_id=self.tenant_id,
            method=self.method.name,
            request_id=request_id,
            body_sha256=self.body_sha256,
            now=self.now,
            encode=lambda result: encode(result).SerializeToString(deterministic=True),
        )


Handler = Callable[[Call], Coroutine[Any, Any, bytes]]
"""The rest of the pipeline: takes the call, answers the response's bytes, raises typed errors."""

Middleware = Callable[[Method, Handler], Handler]
"""Wraps what follows, once per method. May return `following` itself where it has nothing to do."""
