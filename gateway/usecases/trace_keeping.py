"""Makes traces durable: in the ledger, or on the local disk while the ledger is out."""

import asyncio
from typing import Protocol

from assemblers.records import UserRef
from gateway.deadline import Deadline
from gateway.errors import Reason, Unavailable
from gateway.usecases.probation import Probation
from gateway.usecases.runtime import Runtime
from storage.errors import StorageFull, StorageUnavailable
from storage.lru import Lru
from storage.ports import Storage, TraceDraft

APPEND_SHARE = 0.6
"""The share of the remaining time that the ledger may take; the rest is for the spool and the answer's way back."""
PSEUDONYM_SHARE = 0.3
PROVISIONAL_USERS = 100_000
_OUT = (StorageUnavailable, StorageFull, TimeoutError)


class TraceSpool(Protocol):
    """Keeps traces on the local disk until the ledger takes them."""

    @property
    def depth(self) -> int: ...
    @property
    def has_room(self) -> bool: ...
    async def add(self, draft: TraceDraft) -> None:
        """Durable when it returns. Raises `StorageFull` or `StorageUnavailable`."""
        ...


class TraceKeeper:
    """The ledger with the spool behind it. Without a spool the ledger's failure is the call's."""

    def __init__(self, storage: Storage, spool: TraceSpool | None, runtime: Runtime) -> None:
        self._traces, self._users, self._spool, self._runtime = storage.traces, storage.users, spool, runtime
        self._ledger = Probation()
        self._provisional: Lru[UserRef, str] = Lru(PROVISIONAL_USERS)

    @property
    def waiting(self) -> int:
        """How many traces wait for the ledger."""
        return 0 if self._spool is None else self._spool.depth

    async def pseudonym(self, user: UserRef, deadline: Deadline, sql_answers: bool) -> str:
        """What stands for the user in the chain.

        While SQL is out, a user who is not known yet gets a random one for the time being: it links the traces of this
        outage in this process, and nothing ever ties it to the user (ADR 0017).
        """
        known = self._users.peek(user)
        if known is not None:
            return known
        if self._spool is None:
            return await self._users.pseudonym(user)
        if sql_answers:
            try:
                async with asyncio.timeout(deadline.share(PSEUDONYM_SHARE).remaining()):
                    return await self._users.pseudonym(user)
            except _OUT:
                pass
        provisional = self._provisional.get(user) or self._runtime.new_id()
        self._provisional.put(user, provisional)
        return provisional

    async def keep(self, draft: TraceDraft, deadline: Deadline, sql_answers: bool) -> bool:
        """Make a trace durable; False: on the local disk alone.

        Raises `AlreadyExists` and `RequestIdReused` as the ledger does, and Unavailable where neither takes it.
        """
        if self._spool is None:
            await self._traces.append(draft)
            return True
        # An empty spool was drained: then the ledger answers.
        asks = sql_answers and (self._ledger.admits() or not self._spool.depth)
        if asks and await self._appended(draft, deadline):
            return True
        try:
            await self._spool.add(draft)
        except (StorageUnavailable, StorageFull):
            raise Unavailable(
                Reason.STORAGE_UNAVAILABLE,
                "neither the ledger nor the spool takes the trace, and no answer leaves without one: repeat later with "
                "the same ids",
            ) from None
        return False

    async def _appended(self, draft: TraceDraft, deadline: Deadline) -> bool:
        try:
            async with asyncio.timeout(deadline.share(APPEND_SHARE).remaining()):
                await self._traces.append(draft)
        except _OUT:
            self._ledger.failed()
            return False
        self._ledger.succeeded()
        return True
