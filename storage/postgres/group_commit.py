"""Group commit: appends of one tenant that wait at the same time go to the database together.

A tenant's chain is written by one append after another anyway, so one call at a time per tenant is all there can be;
what has queued meanwhile shares the next one and its fsync. What was accepted is done even if its caller goes away.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from storage.errors import AlreadyExists, StorageError, StorageFull, StorageUnavailable
from storage.ports import Seal, TraceDraft
from storage.postgres.trace_entries import Entry, Outcome, TurnThere

_log = logging.getLogger(__name__)

MAX_WAITING: Final = 4_096
"""Appends that may wait; one more is refused at once."""
MAX_BATCH: Final = 64
"""Appends that share a call."""


Store = Callable[[str, Sequence[Entry]], Awaitable[Sequence[Outcome]]]
"""Appends a tenant's batch in one step and says for each entry what became of it."""


@dataclass(slots=True)
class Pending:
    """An append on its way. `until`: when it is given up, by the loop's clock."""

    entry: Entry
    done: "asyncio.Future[Seal]"
    until: float


class GroupCommit:
    """The queues of all tenants. Belongs to one event loop."""

    def __init__(self, store: Store, seconds: float) -> None:
        """`seconds`: how long an append waits for its turn. One that has waited longer is not even tried: where the
        database stands still, each batch takes its whole time, and callers would wait for many of them."""
        self._store, self._seconds = store, seconds
        self._queues: dict[str, deque[Pending]] = {}
        self._pumps: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many appends wait or are on their way."""
        return self._waiting

    async def append(self, entry: Entry) -> Seal:
        """Queue an append and wait until it is durable. Cancelling the wait does not undo it."""
        if self._closed or self._waiting >= MAX_WAITING:
            raise StorageUnavailable("too many traces are waiting")
        loop = asyncio.get_running_loop()
        pending = Pending(entry, loop.create_future(), loop.time() + self._seconds)
        self._waiting += 1
        self._enqueue(entry.draft.session.tenant_id, pending)
        return await pending.done

    async def close(self) -> None:
        """Refuse what is new and do what was accepted."""
        self._closed = True
        if self._pumps:
            await asyncio.wait(self._pumps)

    def _enqueue(self, tenant_id: str, pending: Pending) -> None:
        queue = self._queues.get(tenant_id)
        if queue is not None:
            queue.append(pending)
            return
        # A queue is there as long as its pump runs. It begins in the next round of the loop, so that what else is ready
        # in this one joins the batch.
        self._queues[tenant_id] = deque([pending])
        pump = asyncio.ensure_future(self._pump(tenant_id))
        self._pumps.add(pump)
        pump.add_done_callback(self._pumps.discard)

    async def _pump(self, tenant_id: str) -> None:
        queue = self._queues[tenant_id]
        while queue:
            batch = take(queue)
            if not self._give_up(batch):
                for pending, outcome in zip(batch, await self._outcomes(tenant_id, batch), strict=True):
                    self._settle(queue, pending, outcome)
            # Who was answered may be back at once: without this round of the loop, small and large batches alternate.
            await asyncio.sleep(0)
        del self._queues[tenant_id]

    def _give_up(self, batch: Sequence[Pending]) -> bool:
        """Whether all of a batch has waited too long, and has been told so."""
        now = asyncio.get_running_loop().time()
        if any(pending.until > now for pending in batch):
            return False
        for pending in batch:
            self._finish(pending, StorageUnavailable("the trace could not be appended in time"))
        return True

    async def _outcomes(self, tenant_id: str, batch: Sequence[Pending]) -> Sequence[Outcome]:
        try:
            return await self._store(tenant_id, [pending.entry for pending in batch])
        except StorageError as error:
            return [_copy(error) for _ in batch]
        except Exception as error:  # noqa: BLE001 - whatever failed, those who wait must learn of it
            _log.error("appending traces has failed: %s", type(error).__name__)
            return [StorageUnavailable("the append has failed") for _ in batch]

    def _settle(self, queue: deque[Pending], pending: Pending, outcome: Outcome) -> None:
        if isinstance(outcome, TurnThere):
            if outcome.same:
                pending.entry = replace(pending.entry, turn_known=True)
                queue.appendleft(pending)
                return
            outcome = AlreadyExists("turn_id")
        self._finish(pending, outcome)

    def _finish(self, pending: Pending, outcome: Seal | StorageError) -> None:
        self._waiting -= 1
        if pending.done.done():
            # The caller went away.
            return
        if isinstance(outcome, Seal):
            pending.done.set_result(outcome)
        else:
            pending.done.set_exception(outcome)


def take(queue: deque[Pending]) -> list[Pending]:
    """The next batch, in the order of the queue, without what would depend on another of the batch: a session, trace id
    or request id comes once. What is left keeps its order."""
    batch: list[Pending] = []
    taken: set[tuple[str, ...]] = set()
    left: list[Pending] = []
    while queue and len(batch) < MAX_BATCH and len(left) < MAX_BATCH:
        pending = queue.popleft()
        names = set(_names(pending.entry.draft))
        (batch if taken.isdisjoint(names) else left).append(pending)
        # Also of one that is left: what comes behind it in its session must not overtake it.
        taken |= names
    queue.extendleft(reversed(left))
    return batch


def _names(draft: TraceDraft) -> Iterator[tuple[str, ...]]:
    session = draft.session
    yield "session", session.user_id, session.session_id
    yield "trace", draft.trace_id
    if draft.request_id:
        yield "request", draft.request_id


def _copy(error: StorageError) -> StorageError:
    """An error for each of those who wait: a traceback belongs to one of them."""
    kind = StorageFull if isinstance(error, StorageFull) else StorageUnavailable
    return kind(str(error))
