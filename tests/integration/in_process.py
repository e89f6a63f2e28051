"""The whole gateway without a socket: every service over a fresh data folder, behind the pipeline that serves them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2

from gateway.app import build_services
from gateway.backends import Backends, opened
from gateway.config import Settings
from gateway.server.limits import Limits
from gateway.server.pipeline import Clocks, Pipeline, Service, standard_middlewares
from gateway.server.status import DETAILS_KEY
from gateway.tokenizers import TokenizerRegistry
from gateway.usecases.runtime import Runtime
from muniment.v1 import errors_pb2, policy_service_pb2
from storage.ports import Storage
from storage.sqlite import open_sqlite
from tests.integration.requests import GOOD

_TOKENIZERS = TokenizerRegistry()
START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@dataclass
class Refused(Exception):
    """What the client is told of a call that failed."""

    code: str
    status: status_pb2.Status

    @property
    def message(self) -> str:
        return str(self.status.message)

    @property
    def info(self) -> error_details_pb2.ErrorInfo:
        found = error_details_pb2.ErrorInfo()
        assert self.status.details[0].Unpack(found)
        return found

    @property
    def reason(self) -> str:
        return str(self.info.reason)

    @property
    def violations(self) -> dict[str, str]:
        """The descriptions by field; empty where the error is of another kind."""
        for detail in self.status.details:
            found = error_details_pb2.BadRequest()
            if detail.Unpack(found):
                return {v.field: v.description for v in found.field_violations}
        return {}

    @property
    def budget_needs(self) -> errors_pb2.BudgetNeeds:
        """The detail of BUDGET_TOO_SMALL."""
        found = errors_pb2.BudgetNeeds()
        assert any(detail.Unpack(found) for detail in self.status.details)
        return found


class _Context:
    """Stands for grpc's: no metadata, an abort that can be caught, and time enough for a busy machine."""

    def time_remaining(self) -> float:
        return 10.0

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return ()

    async def abort(self, code: grpc.StatusCode, details: str, trailing: Any = ()) -> NoReturn:
        status = status_pb2.Status.FromString(dict(trailing)[DETAILS_KEY])
        assert details == status.message
        raise Refused(code.name, status)


@dataclass
class Gateway:
    """Calls any method of the contract by its name. `now` is the instant of the next calls."""

    storage: Storage
    now: datetime = START
    backends: Backends | None = None
    services: tuple[Service, ...] = ()
    handlers: dict[str, Any] = field(default_factory=dict)
    methods: dict[str, MethodDescriptor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Vocabularies take a quarter of a second to load and hold no state: all tests share them.
        with patch("gateway.app.TokenizerRegistry", return_value=_TOKENIZERS):
            self.services = build_services(self.storage, Runtime(now=lambda: self.now), self.backends)
        pipeline = Pipeline(standard_middlewares(Limits(64)), Clocks(lambda: self.now, lambda: 0.0))
        for service in self.services:
            for method in service.descriptor.methods:
                self.methods[method.name] = method
            for path, handler in pipeline.handlers(service).items():
                self.handlers[path.rpartition("/")[2]] = handler.unary_unary

    def passes(self, **time: float) -> None:
        """Let time go by, as `timedelta` counts it."""
        self.now += timedelta(**time)

    async def raw(self, method: str, body: bytes) -> bytes:
        """The answer's bytes. Raises `Refused`."""
        answer: bytes = await self.handlers[method](body, _Context())
        return answer

    async def call(self, method: str, request: Message) -> Any:
        """The answer. Raises `Refused`."""
        answer = GetMessageClass(self.methods[method].output_type)
        return answer.FromString(await self.raw(method, request.SerializeToString()))

    async def code(self, method: str, request: Message) -> str:
        """How a call ends: OK, or the code of its error."""
        try:
            await self.raw(method, request.SerializeToString())
        except Refused as refused:
            return refused.code
        return "OK"

    async def use_desk(self) -> None:
        """Give the tenant the prefix and the policy of `requests`, as its default."""
        await self.call("RegisterPrefixRevision", GOOD["RegisterPrefixRevision"])
        await self.use(GOOD["RegisterPolicyRevision"])

    async def use(self, registration: Message) -> str:
        """Make a policy the tenant's default; its revision's name."""
        name: str = (await self.call("RegisterPolicyRevision", registration)).revision.name
        activation = policy_service_pb2.ActivatePolicyRevisionRequest(name=name, tenant_default=True)
        await self.call("ActivatePolicyRevision", activation)
        return name

    async def refusal(self, method: str, request: Message | bytes) -> Refused:
        """What a call that must fail is told."""
        body = request if isinstance(request, bytes) else request.SerializeToString()
        try:
            answer = await self.raw(method, body)
        except Refused as refused:
            return refused
        raise AssertionError(f"{method} answered {answer[:200]!r}, and should have refused")


@asynccontextmanager
async def gateway_on(settings: Settings) -> AsyncIterator[Gateway]:
    """The gateway over what the settings name, put together as `muniment serve` does."""
    async with opened(settings) as backends:
        yield Gateway(backends.storage, backends=backends)


@asynccontextmanager
async def gateway_at(data_dir: Path) -> AsyncIterator[Gateway]:
    """Open a data folder and put the gateway over it."""
    async with await open_sqlite(data_dir) as storage:
        yield Gateway(storage)
