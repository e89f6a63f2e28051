"""Repeats that come through another gateway than the first request: answered from a copy that all gateways share.

Only what touches the session cache alone is copied; all other writes have their receipts in SQL. As with receipts in
this process, losing a copy is harmless.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from assemblers.records import UserRef
from gateway.usecases.freshness import Freshness
from storage.errors import Repeated, RequestIdReused, StorageFull, StorageUnavailable
from storage.ports import Epochs, Receipt
from storage.ports.answers import AnswerCopies, AnswerCopy

T = TypeVar("T")


class SharedAnswers:
    """Does each request of a user once, as far as copies tell."""

    def __init__(self, copies: AnswerCopies, freshness: Freshness) -> None:
        self._copies, self._freshness = copies, freshness

    async def once(self, user: UserRef, receipt: Receipt[T], work: Callable[[], Awaitable[T]]) -> T:
        """Do `work` unless its request was answered elsewhere: then `Repeated` or `RequestIdReused`."""
        epochs = await self._epochs(user) if receipt.request_id else None
        if epochs is None:
            # Nobody can say whether the user is still the one whom an answer was given about.
            return await work()
        await self._refuse_known(user, receipt, epochs)
        result = await work()
        copy = AnswerCopy(receipt.body_sha256, receipt.encode(result), epochs)
        with suppress(StorageUnavailable, StorageFull):
            await self._copies.keep(user, receipt.method, receipt.request_id, copy, receipt.now)
        return result

    async def _epochs(self, user: UserRef) -> Epochs | None:
        confirmation = (await self._freshness.standing(user)).confirmation
        return None if confirmation is None else confirmation.epochs

    async def _refuse_known(self, user: UserRef, receipt: Receipt[T], epochs: Epochs) -> None:
        try:
            copy = await self._copies.find(user, receipt.method, receipt.request_id, receipt.now)
        except (StorageUnavailable, StorageFull):
            return
        if copy is None or copy.epochs != epochs:
            return
        if copy.body_sha256 != receipt.body_sha256:
            raise RequestIdReused("the request id was used with another body; choose a new one")
        raise Repeated(copy.response)
