"""The spool itself: takes traces durably, many in one write, and gives them back oldest first."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from storage.errors import StorageError, StorageFull, StorageUnavailable
from storage.keys import build_key
from storage.ports import TraceDraft
from storage.spool.drafts import decode_draft, encode_draft
from storage.spool.file import Place, SpoolFile
from storage.spool.frames import HEAD_BYTES
from storage.spool.keys import Sealer, SpoolKeys

T = TypeVar("T")

_MOST_WAITING: Final = 4_096
"""Drafts that wait for the disk; beyond them it is slower than the traffic, and refusing early costs less."""
_ORDINARY_BYTES: Final = 32 << 10
"""A trace of 240 candidates takes a third of it."""


class _Waiting(NamedTuple):
    content: bytes
    done: "asyncio.Future[None]"


class Spool:
    """One file of traces. Belongs to one event loop.

    Made by `open_spools`, which has recovered `places`. What is taken is on the disk when `add` returns, sealed.
    """

    def __init__(self, file: SpoolFile, keys: SpoolKeys, sealer: Sealer | None, places: list[Place]) -> None:
        self._file, self._keys, self._sealer = file, keys, sealer
        self._places: deque[Place] = deque(places)
        self._refused: list[Place] = []
        self._waiting: deque[_Waiting] = deque()
        self._writing: asyncio.Task[None] | None = None
        # Writing and beginning anew both move the end of the records.
        self._moving = asyncio.Lock()

    @property
    def depth(self) -> int:
        """How many traces are kept here and were not given to their store yet."""
        return len(self._places)

    @property
    def refused(self) -> int:
        """How many traces were refused by their store since the start. Nothing but an operator can help them."""
        return len(self._refused)

    @property
    def bytes_used(self) -> int:
        """The bytes that are taken, until all of them are drained."""
        return self._file.used

    @property
    def has_room(self) -> bool:
        """Whether an ordinary trace still fits."""
        return self._file.fits(_ORDINARY_BYTES)

    @property
    def capacity(self) -> int:
        """The bytes that there are for records."""
        return self._file.capacity

    async def add(self, draft: TraceDraft) -> None:
        """Keep a trace; it is durable when this returns. Raises `StorageFull` or `StorageUnavailable`."""
        if len(self._waiting) >= _MOST_WAITING:
            raise StorageUnavailable("the spool's disk does not keep up")
        waiting = _Waiting(encode_draft(draft), asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())
        await waiting.done

    async def oldest(self, count: int) -> list[TraceDraft]:
        """The traces that wait longest, at most `count`, oldest first. They stay until `settle`."""
        places = list(islice(self._places, count))
        sealer = self._sealer
        if not places or sealer is None:
            return []
        return await asyncio.to_thread(self._read, places, sealer, self._place_name())

    async def settle(self, stored: Sequence[bool]) -> None:
        """Say of the oldest, in their order, whether their store has them now. The file begins anew once it has all.

        What a store refused for good is set aside: it stays in the file for an operator, which is then never emptied.
        """
        for taken in stored:
            place = self._places.popleft()
            if not taken:
                self._refused.append(place)
        async with self._moving:
            if self._file.used and not (self._places or self._refused):
                await self._begin()

    async def begin(self) -> None:
        """Begin the first filling."""
        async with self._moving:
            await self._begin()

    async def close(self, remove: bool = False) -> None:
        """Finish what is being written and let go of the file; `remove` gives an empty one back to the disk."""
        if self._writing is not None:
            await asyncio.wait([self._writing])
        async with self._moving:
            empty = not (self._places or self._refused)
            close = self._file.remove if remove and empty else self._file.close
            await asyncio.to_thread(close)

    async def _begin(self) -> None:
        sealer, wrapped = await self._keys.create()
        await _finished(lambda: self._file.begin(wrapped))
        self._sealer = sealer

    def _read(self, places: list[Place], sealer: Sealer, name: bytes) -> list[TraceDraft]:
        return [decode_draft(sealer.open(name, self._file.read(place))) for place in places]

    async def _write_all(self) -> None:
        """Write what waits, and what comes meanwhile, in as few writes as possible."""
        try:
            while self._waiting:
                async with self._moving:
                    await self._write_some()
        finally:
            # Not reached with anybody waiting unless the loop is being torn down.
            self._writing = None
            for waiting in self._waiting:
                _fail(waiting, StorageUnavailable("the spool was stopped"))
            self._waiting.clear()

    async def _write_some(self) -> None:
        batch, payloads = self._fitting()
        if not batch:
            return
        try:
            places = await _finished(lambda: self._file.append(payloads))
        except BaseException as error:
            # One error for each: raised in several places, one would collect the traces of all of them.
            failure = StorageFull if isinstance(error, StorageFull) else StorageUnavailable
            for waiting in batch:
                _fail(waiting, failure("the spool could not be written"))
            if not isinstance(error, StorageError):
                raise
            return
        self._places.extend(places)
        for waiting in batch:
            if not waiting.done.done():
                waiting.done.set_result(None)

    def _fitting(self) -> tuple[list[_Waiting], list[bytes]]:
        """All that wait and fit, sealed; those that do not are refused."""
        batch, payloads, size = [], [], 0
        while self._waiting:
            waiting = self._waiting.popleft()
            # Whoever gave up meanwhile was not answered, and need not be remembered.
            if waiting.done.done():
                continue
            payload = self._seal(waiting.content)
            if payload is None or not self._file.fits(len(payload), size):
                _fail(waiting, StorageFull("the spool is full: its store has been out for too long"))
                continue
            batch.append(waiting)
            payloads.append(payload)
            size += HEAD_BYTES + len(payload)
        return batch, payloads

    def _seal(self, content: bytes) -> bytes | None:
        return None if self._sealer is None else self._sealer.seal(self._place_name(), content)

    def _place_name(self) -> bytes:
        """What the records are sealed to. The frames' digests hold each of them at its place within the filling."""
        header = self._file.header
        return build_key("spool", str(header.generation if header is not None else 0))


async def _finished(work: Callable[[], T]) -> T:
    """`work` on a thread, waited for to its end even if the caller is cancelled: the file is in between until then."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def _fail(waiting: _Waiting, error: Exception) -> None:
    if not waiting.done.done():
        waiting.done.set_exception(error)
