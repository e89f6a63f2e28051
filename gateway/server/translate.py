"""Errors of the lower rooms as errors of the gateway. What is not listed here is a fault of ours."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from assemblers.assembly import BudgetTooSmall as CoreBudgetTooSmall
from gateway.errors import (
    Aborted,
    AlreadyExists,
    BudgetTooSmall,
    DeadlineExceeded,
    FailedPrecondition,
    GatewayError,
    NotFound,
    Reason,
    ResourceExhausted,
    Unavailable,
)
from gateway.paging import invalid_token
from storage import errors as stored

E = TypeVar("E", bound=BaseException)
_RETRY_SECONDS = 1.0


def _taken(error: stored.AlreadyExists) -> GatewayError:
    field = "turn.turn_id" if error.what == "turn_id" else error.what
    return AlreadyExists(
        Reason.TURN_ID_REUSED, f"{field} was used with other content: choose a new one", {"field": field}
    )


def _request_id(_: stored.RequestIdReused) -> GatewayError:
    return AlreadyExists(
        Reason.REQUEST_ID_REUSED,
        "request_id was used within 24 hours with another body: send a new UUID for a new request",
        {"field": "request_id"},
    )


def _etag(error: stored.EtagMismatch) -> GatewayError:
    return Aborted(
        Reason.ETAG_MISMATCH,
        "the thing has changed since it was read: read it again and repeat with its present etag",
        {"field": "etag", "etag": error.current},
    )


def _limit(error: stored.LimitExceeded) -> GatewayError:
    return ResourceExhausted(
        Reason.LIMIT_EXCEEDED,
        f"there may be at most {error.limit} {error.what}: remove some first",
        {"limit": error.what.replace(" ", "_"), "max": str(error.limit)},
    )


def _unavailable(_: BaseException) -> GatewayError:
    return Unavailable(
        Reason.STORAGE_UNAVAILABLE,
        "the storage does not answer; nothing was acknowledged: repeat later with the same ids",
        retry_after=_RETRY_SECONDS,
    )


def _full(_: stored.StorageFull) -> GatewayError:
    return ResourceExhausted(
        Reason.STORAGE_FULL, "the server's disk is full; nothing was stored: ask its operator to make room"
    )


def _erased(_: stored.Erased) -> GatewayError:
    return FailedPrecondition(Reason.ERASED, "what is asked for was erased: only the proof of it remains")


def _budget(error: CoreBudgetTooSmall) -> GatewayError:
    return BudgetTooSmall(error.limit, error.needs)


def _entry(
    kind: type[E], convert: Callable[[E], GatewayError]
) -> tuple[type[E], Callable[[E], GatewayError]]:
    return kind, convert


_CONVERSIONS = (
    _entry(stored.NotFound, lambda _: NotFound()),
    _entry(stored.AlreadyExists, _taken),
    _entry(stored.RequestIdReused, _request_id),
    _entry(stored.EtagMismatch, _etag),
    _entry(stored.LimitExceeded, _limit),
    _entry(stored.InvalidCursor, lambda _: invalid_token()),
    _entry(stored.StorageUnavailable, _unavailable),
    _entry(stored.StorageFull, _full),
    _entry(stored.Erased, _erased),
    _entry(CoreBudgetTooSmall, _budget),
)


def translate(error: BaseException, allowed_seconds: float) -> GatewayError | None:
    """The error as one for the client; None where nothing may be said about it.

    `allowed_seconds` is the time the call had, for time-outs.
    """
    if isinstance(error, GatewayError):
        return error
    if isinstance(error, asyncio.TimeoutError):
        return DeadlineExceeded(allowed_seconds)
    for kind, convert in _CONVERSIONS:
        if isinstance(error, kind):
            return convert(error)  # type: ignore[arg-type]  # each entry pairs a type with its own converter
    return None
