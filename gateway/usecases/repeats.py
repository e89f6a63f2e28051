"""Repeats of writes that touch only the session cache: their receipts live where the slots live, in this process.

Losing them with the slots is harmless: a repeat then sets the same slots again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar
from weakref import WeakValueDictionary

from storage.errors import Repeated, RequestIdReused
from storage.lru import Lru
from storage.ports import Receipt

T = TypeVar("T")

KEPT = timedelta(hours=24)
CAPACITY = 10_000
"""Answers that are kept; each is a few hundred bytes."""

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Answer:
    body_sha256: bytes
    response: bytes
    expire_time: datetime


class Repeats:
    """Does each request once. Belongs to one event loop."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._answers: Lru[Key, _Answer] = Lru(capacity)
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()

    async def once(self, receipt: Receipt[T], work: Callable[[], Awaitable[T]]) -> T:
        """Do `work` unless its request was done before: then `Repeated` or `RequestIdReused`.

        A request without an id is done. One that fails leaves nothing behind and may be tried again.
        """
        if not receipt.request_id:
            return await work()
        key = (receipt.tenant_id, receipt.method, receipt.request_id)
        # The second of two at the same time waits for the answer of the first.
        async with self._locks.setdefault(key, asyncio.Lock()):
            self._refuse_known(key, receipt)
            result = await work()
            expires = receipt.now + KEPT
            self._answers.put(key, _Answer(receipt.body_sha256, receipt.encode(result), expires))
            return result

    def _refuse_known(self, key: Key, receipt: Receipt[T]) -> None:
        known = self._answers.get(key)
        if known is None or known.expire_time <= receipt.now:
            return
        if known.body_sha256 != receipt.body_sha256:
            raise RequestIdReused("the request id was used with another body; choose a new one")
        raise Repeated(known.response)
