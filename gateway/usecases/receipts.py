"""A write's receipt, passed on to a store whose result is only a part of the answer."""

from collections.abc import Callable
from typing import TypeVar

from storage.ports import Receipt

R = TypeVar("R")
T = TypeVar("T")


def through(receipt: Receipt[R], complete: Callable[[T], R]) -> Receipt[T]:
    """The receipt for a store that gives T: the answer is encoded from what `complete` makes of it.

    `complete` runs within the store's transaction: it must be quick and pure.
    """
    return Receipt(
        tenant_id=receipt.tenant_id,
        method=receipt.method,
        request_id=receipt.request_id,
        body_sha256=receipt.body_sha256,
        now=receipt.now,
        encode=lambda result: receipt.encode(complete(result)),
    )
