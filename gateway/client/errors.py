"""What a failed call says, read out of the server's `google.rpc.Status`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self, TypeVar, cast

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

from muniment.v1.errors_pb2 import BudgetNeeds, Diagnostic, PolicyDiagnostics

M = TypeVar("M", bound=Message)
_DETAILS_KEY = "grpc-status-details-bin"


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field of the request that was refused, by its path in the proto, with the remedy."""

    field: str
    remedy: str


class CallError(Exception):
    """A call failed. `message` names the remedy; `reason` is one of `ErrorReason`, or empty for the transport's own."""

    def __init__(self, code: grpc.StatusCode, message: str, status: status_pb2.Status | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status or status_pb2.Status(code=code.value[0], message=message)
        info = next(self._details(error_details_pb2.ErrorInfo), None)
        self.reason: str = info.reason if info is not None else ""
        self.metadata: Mapping[str, str] = dict(info.metadata) if info is not None else {}

    @classmethod
    def of(cls, error: grpc.RpcError, address: str) -> Self:
        """The error of a call to `address`."""
        # Every error of a call is both, which the stubs of grpc cannot say.
        call = cast("grpc.Call", error)
        code, status = call.code(), _status(call)
        if status is None and code is grpc.StatusCode.UNAVAILABLE:
            return cls(code, _nobody_there(address))
        if status is None and code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return cls(
                code, f"{address} did not answer in time: repeat the call, or look at the server's log"
            )
        return cls(code, call.details() or code.name, status)

    @property
    def problems(self) -> tuple[FieldProblem, ...]:
        """The fields that were refused."""
        found = self._details(error_details_pb2.BadRequest)
        return tuple(FieldProblem(v.field, v.description) for bad in found for v in bad.field_violations)

    @property
    def needs(self) -> BudgetNeeds | None:
        """What needs how many tokens, where a budget was too small."""
        return next(self._details(BudgetNeeds), None)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong with a policy, where one was refused."""
        return tuple(d for found in self._details(PolicyDiagnostics) for d in found.diagnostics)

    @property
    def retry_seconds(self) -> float | None:
        """When to try again, where the server says so."""
        info = next(self._details(error_details_pb2.RetryInfo), None)
        return info.retry_delay.ToNanoseconds() / 1e9 if info is not None else None

    def _details(self, kind: type[M]) -> Iterator[M]:
        for packed in self.status.details:
            detail = kind()
            if packed.Is(kind.DESCRIPTOR) and packed.Unpack(detail):
                yield detail


def _status(error: grpc.Call) -> status_pb2.Status | None:
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                return None
    return None


def _nobody_there(address: str) -> str:
    return (
        f"no gateway answers at {address}: start one with `muniment serve`, "
        "or name another with --address or MUNIMENT_ADDRESS"
    )
