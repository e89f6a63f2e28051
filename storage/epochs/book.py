"""The epoch book: whom to ask which epochs are current, and what to make of the answers.

The shared cache is asked first, in the same turn of the loop as the session's slots, so that one round trip brings
both. SQL is asked where the cache has nothing fresh, has less than the caller has seen or this process has written, or
does not answer. Why the answers hold across processes is argued in `storage.epochs.shared`.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from assemblers.records import UserRef
from storage.epochs.known import KnownEpochs
from storage.epochs.shared import SharedEpochs, SharedState
from storage.errands import Errands
from storage.errors import StorageFull, StorageUnavailable
from storage.ports.confirmations import Confirmation, EpochSource, covers
from storage.ports.epochs import Epochs, EpochStore

SQL_SECONDS: Final = 1.0
"""What SQL may take where the caller sets no bound."""


class EpochBook:
    """The port `EpochConfirmer` for several gateways. Belongs to one event loop."""

    def __init__(
        self,
        shared: SharedEpochs,
        store: EpochStore,
        known: KnownEpochs,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`known` is shared with the announcer of this process."""
        self._shared, self._store, self._known, self._monotonic = shared, store, known, monotonic
        self._errands = Errands()

    async def confirm(
        self,
        user: UserRef,
        at_least: Epochs | None = None,
        within: float | None = None,
        keep_unknown: bool = False,
    ) -> Confirmation | None:
        """The current epochs, or None where nobody can say."""
        asked = self._monotonic()
        state = await self._ask_shared(user)
        if state is not None and state.is_fresh and self._suffices(user, state.epochs, at_least):
            return self._confirmed(user, state, EpochSource.SHARED, asked)
        read = await self._ask_store(user, SQL_SECONDS if within is None else within)
        if read is not None:
            epochs, confirmation = read
            if state is not None:
                self._errands.begin(partial(self._shared.fill, user, epochs, state.mark, keep_unknown))
            return confirmation
        if state is not None and self._suffices(user, state.epochs, None):
            return self._confirmed(user, state, EpochSource.SHARED_ALONE, asked)
        return self._known.find(user)

    def known(self, user: UserRef) -> Confirmation | None:
        """What was confirmed within the last second, out of memory."""
        return self._known.find(user)

    async def close(self) -> None:
        """Give up what is under way."""
        await self._errands.close()

    def _suffices(self, user: UserRef, epochs: Epochs | None, at_least: Epochs | None) -> bool:
        if epochs is None or not covers(epochs, self._known.floor(user)):
            return False
        return at_least is None or covers(epochs, at_least)

    async def _ask_shared(self, user: UserRef) -> SharedState | None:
        try:
            return await self._shared.read(user)
        except (StorageUnavailable, StorageFull):
            return None

    async def _ask_store(self, user: UserRef, within: float) -> tuple[Epochs, Confirmation] | None:
        asked = self._monotonic()
        try:
            async with asyncio.timeout(within):
                epochs = await self._store.read(user)
        except (TimeoutError, StorageUnavailable, StorageFull):
            return None
        self._known.remember(user, epochs, asked)
        return epochs, Confirmation(epochs, EpochSource.SQL, self._monotonic() - asked)

    def _confirmed(
        self, user: UserRef, state: SharedState, source: EpochSource, asked: float
    ) -> Confirmation:
        assert state.epochs is not None
        # The server told the age some time after it was asked.
        confirmed = asked - state.age_seconds
        if source is EpochSource.SHARED:
            self._known.remember(user, state.epochs, confirmed)
        else:
            self._known.note(user, state.epochs)
        return Confirmation(state.epochs, source, self._monotonic() - confirmed)
