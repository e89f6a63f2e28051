"""A call without a network: a context that records the abort, and a method of the real contract."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NoReturn

import grpc
import pytest
from google.rpc import status_pb2

from gateway.deadline import Deadline
from gateway.server.call import Call, Method
from gateway.server.status import DETAILS_KEY
from muniment.v1 import context_pb2


@dataclass
class RecordingContext:
    """Stands for grpc's context: keeps what the call was aborted with."""

    metadata: tuple[tuple[str, str], ...] = ()
    aborted: list[tuple[grpc.StatusCode, str]] = field(default_factory=list)
    status: status_pb2.Status | None = None

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return self.metadata

    def code(self) -> grpc.StatusCode:
        return self.aborted[-1][0]

    async def abort(self, code: grpc.StatusCode, details: str, trailing: Any = ()) -> NoReturn:
        self.aborted.append((code, details))
        self.status = status_pb2.Status.FromString(dict(trailing)[DETAILS_KEY])
        raise grpc.aio.AbortError("Locally aborted.")


MakeCall = Callable[..., Call]


@pytest.fixture
def context() -> RecordingContext:
    return RecordingContext()


@pytest.fixture
def method() -> Method:
    return Method("muniment.v1.ContextService", "AssembleContext", context_pb2.AssembleContextRequest, 1024)


@pytest.fixture
def make_call(method: Method, context: RecordingContext) -> MakeCall:
    def make(body: bytes = b"", deadline: Deadline | None = None, **fields: Any) -> Call:
        now = datetime(2026, 11, 29, 22, 30, tzinfo=UTC)
        any_context: Any = context
        return Call(
            fields.pop("method", method), any_context, body, now, deadline or Deadline.after(5.0), **fields
        )

    return make
