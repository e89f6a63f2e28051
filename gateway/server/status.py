"""Typed errors as `google.rpc.Status` with its details, small enough for every client's header limit."""

from collections.abc import Iterable, Iterator
from functools import singledispatch
from typing import Any, TypeVar

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

from gateway.errors import (
    BudgetTooSmall,
    FailedPrecondition,
    FieldViolation,
    GatewayError,
    InvalidArgument,
    PolicyInvalid,
    ResourceExhausted,
    Unavailable,
)
from muniment.v1 import errors_pb2, types_pb2

M = TypeVar("M", bound=Message)
DOMAIN = "muniment.v1"
DETAILS_KEY = "grpc-status-details-bin"

# Clients refuse trailers of more than 8 KiB, where the details stand in base64 and the message once more.
_MAX_DETAIL_BYTES = 2_400
_MAX_MESSAGE_CHARACTERS = 300
_MAX_METADATA_CHARACTERS = 200


def to_status(error: GatewayError) -> status_pb2.Status:
    """The status: ErrorInfo always, and the details that fit the error's type."""
    metadata = {key: value[:_MAX_METADATA_CHARACTERS] for key, value in error.metadata.items()}
    info = error_details_pb2.ErrorInfo(reason=error.reason.value, domain=DOMAIN, metadata=metadata)
    return status_pb2.Status(
        code=code_pb2.Code.Value(error.outcome.value),
        message=error.message[:_MAX_MESSAGE_CHARACTERS],
        details=[_packed(detail) for detail in (info, *_details(error))],
    )


async def abort(context: "grpc.aio.ServicerContext[Any, Any]", error: GatewayError) -> None:
    """End the call with the error. Raises grpc's AbortError, as every abort does."""
    status = to_status(error)
    code = getattr(grpc.StatusCode, error.outcome.value)
    await context.abort(code, status.message, ((DETAILS_KEY, status.SerializeToString()),))


def _packed(message: Message) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(message)
    return packed


@singledispatch
def _details(_: GatewayError) -> Iterator[Message]:
    """The details beside ErrorInfo."""
    yield from ()


@_details.register
def _(error: InvalidArgument) -> Iterator[Message]:
    yield error_details_pb2.BadRequest(field_violations=_bounded(_violation(v) for v in error.violations))


@_details.register
def _(error: PolicyInvalid) -> Iterator[Message]:
    diagnostics = (
        errors_pb2.Diagnostic(
            severity=errors_pb2.Diagnostic.Severity.Value(f"SEVERITY_{d.severity}"),
            rule_id=d.rule_id,
            field=d.field,
            message=d.message,
            suggestion=d.suggestion,
            line=d.line,
            column=d.column,
        )
        for d in error.diagnostics
    )
    yield errors_pb2.PolicyDiagnostics(diagnostics=_bounded(diagnostics, _MAX_DETAIL_BYTES // 2))
    fields = (
        _violation(FieldViolation(d.field, d.message)) for d in error.diagnostics if d.severity == "ERROR"
    )
    yield error_details_pb2.BadRequest(field_violations=_bounded(fields, _MAX_DETAIL_BYTES // 2))


@_details.register
def _(error: FailedPrecondition) -> Iterator[Message]:
    subject = (error.metadata.get("name") or error.metadata.get("field") or "")[:_MAX_METADATA_CHARACTERS]
    violation = error_details_pb2.PreconditionFailure.Violation(
        type=error.reason.value, subject=subject, description=error.message[:_MAX_MESSAGE_CHARACTERS]
    )
    yield error_details_pb2.PreconditionFailure(violations=[violation])


@_details.register
def _(error: BudgetTooSmall) -> Iterator[Message]:
    needs = (
        errors_pb2.BudgetNeeds.Need(
            section=types_pb2.SectionKind.Value(f"SECTION_KIND_{n.section.value}"),
            tokens=n.tokens,
            what=n.what,
        )
        for n in error.needs
    )
    yield errors_pb2.BudgetNeeds(
        limit_tokens=error.limit_tokens, needed_tokens=error.needed_tokens, needs=_bounded(needs)
    )


@_details.register
def _(error: ResourceExhausted) -> Iterator[Message]:
    subject = error.metadata.get("limit", error.reason.value.lower())[:_MAX_METADATA_CHARACTERS]
    violation = error_details_pb2.QuotaFailure.Violation(
        subject=subject, description=error.message[:_MAX_MESSAGE_CHARACTERS]
    )
    yield error_details_pb2.QuotaFailure(violations=[violation])
    if error.retry_after is not None:
        yield _retry(error.retry_after)


@_details.register
def _(error: Unavailable) -> Iterator[Message]:
    yield _retry(error.retry_after)


def _retry(seconds: float) -> error_details_pb2.RetryInfo:
    delay = Duration()
    delay.FromNanoseconds(round(seconds * 1e9))
    return error_details_pb2.RetryInfo(retry_delay=delay)


def _violation(violation: FieldViolation) -> error_details_pb2.BadRequest.FieldViolation:
    return error_details_pb2.BadRequest.FieldViolation(
        field=violation.field, description=violation.description[:_MAX_MESSAGE_CHARACTERS]
    )


def _bounded(items: Iterable[M], limit: int = _MAX_DETAIL_BYTES) -> Iterator[M]:
    """As many of the items, from the first on, as fit into `limit` bytes."""
    for item in items:
        limit -= item.ByteSize() + 4
        if limit < 0:
            return
        yield item
