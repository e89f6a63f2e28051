"""Receipts: what makes the repeat of a write safe."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Receipt(Generic[T]):
    """The idempotency of one write. `encode` turns the result into the answer's bytes inside the transaction.

    The key is (tenant, method, request_id); kept 24 hours from `now`.
    """

    tenant_id: str
    method: str
    request_id: str
    body_sha256: bytes
    now: datetime
    encode: Callable[[T], bytes]
