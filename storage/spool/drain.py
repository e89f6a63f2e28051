"""Gives spooled traces to their store, oldest first, once it answers again."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from storage.errors import (
    AlreadyExists,
    NotFound,
    RequestIdReused,
    StorageError,
    StorageFull,
    StorageUnavailable,
)
from storage.ports import TraceDraft, TraceStore
from storage.spool.spool import Spool

AT_ONCE: Final = 16
"""Traces that are given in one go: the store makes them durable together."""
PAUSE: Final = 4.0
"""How long the pause after a go is, in times of the go. Whoever asks now comes first: thousands of traces given one
after another would hold up loop and store for seconds, just when both are well again."""
LONGEST_PAUSE: Final = 1.0
"""In seconds, however long a go took: a store that is slow for a moment must not let traces wait for a minute."""


class Drained(NamedTuple):
    """What came of a drain: traces that are stored now, and those that the store refused for good."""

    stored: int = 0
    refused: int = 0


def beside(draft: TraceDraft) -> TraceDraft:
    """The draft for a ledger that has another answer of its turn, or another use of its request id.

    Both answers were given, so both are kept: this one under an id that no caller can give to a turn, and without the
    turn and the claims that the other one has. What was sealed of it, the record, is as it was.
    """
    return replace(draft, turn_id=f"{draft.turn_id}~{draft.trace_id}", turn=None, request_id="")


class Drains:
    """Drains spools into a store. The first is in use, the others are removed once they are empty."""

    def __init__(self, spools: Sequence[Spool], traces: TraceStore, seconds: float = 10.0) -> None:
        """`seconds` is how long one go may take, on the loop's clock."""
        self._spools, self._traces, self._seconds = list(spools), traces, seconds

    @property
    def depth(self) -> int:
        """How many traces wait for their store."""
        return sum(spool.depth for spool in self._spools)

    @property
    def bytes_used(self) -> int:
        """The bytes that they take."""
        return sum(spool.bytes_used for spool in self._spools)

    @property
    def refused(self) -> int:
        """How many traces the store refused for good."""
        return sum(spool.refused for spool in self._spools)

    async def drain(self) -> Drained:
        """Give the store all that there is, as far as it takes it. Never raises for a store that is down."""
        loop = asyncio.get_running_loop()
        stored = refused = 0
        for spool in list(self._spools):
            while spool.depth:
                started = loop.time()
                answers = await self._give(await spool.oldest(AT_ONCE))
                await spool.settle(answers)
                stored, refused = stored + sum(answers), refused + answers.count(False)
                if len(answers) < AT_ONCE and spool.depth:
                    return Drained(stored, refused)
                if spool.depth:
                    await asyncio.sleep(min(PAUSE * (loop.time() - started), LONGEST_PAUSE))
            await self._remove_left(spool)
        return Drained(stored, refused)

    async def close(self) -> None:
        """Let go of all files. What was not drained is there at the next start."""
        for spool in self._spools:
            await spool.close()

    async def _give(self, drafts: list[TraceDraft]) -> list[bool]:
        """Whether each was stored, from the oldest to the last that there is a final answer about."""
        # Begun in their order, so that the store takes them in their order.
        tasks = [asyncio.create_task(self._append(draft)) for draft in drafts]
        try:
            async with asyncio.timeout(self._seconds):
                found = await asyncio.gather(*tasks)
        except TimeoutError:
            found = [task.result() if task.done() and not task.cancelled() else None for task in tasks]
        finals: list[bool] = []
        for answer in found:
            if answer is None:
                break
            finals.append(answer)
        return finals

    async def _append(self, draft: TraceDraft) -> bool | None:
        """None: the store does not answer now."""
        try:
            await self._store(draft)
        except (StorageUnavailable, StorageFull, TimeoutError):
            return None
        except StorageError:
            return False
        return True

    async def _store(self, draft: TraceDraft) -> None:
        """A trace that is stored already is done. One whose turn got another answer stands beside that one's."""
        try:
            await self._traces.append(draft)
        except (AlreadyExists, RequestIdReused):
            if not await self._is_stored(draft):
                await self._traces.append(beside(draft))

    async def _is_stored(self, draft: TraceDraft) -> bool:
        """Whether the ledger has this very trace: an append that was reported as failed may have been done."""
        try:
            stored = await self._traces.get(draft.session.tenant_id, draft.trace_id)
        except NotFound:
            return False
        return stored.record == draft.record

    async def _remove_left(self, spool: Spool) -> None:
        if spool is not self._spools[0] and not spool.refused:
            self._spools.remove(spool)
            await spool.close(remove=True)
