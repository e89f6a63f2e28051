"""Embeds archived excerpts beside the calls: text is stored first and found by keywords at once, its vector follows.

A user's excerpts without a vector of the present embedder are found whenever their archive is used: those that were
just archived, those that a process left behind when it was killed, and, after a change of the embedder, all of them.
So nothing has to search through all users, and who comes back first is embedded first.
"""

import asyncio
from collections import OrderedDict
from contextlib import suppress
from datetime import UTC
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assemblers.excerpts import index_text
from assemblers.records import Excerpt, UserRef
from gateway.embedders import EmbedderLate, EmbeddingError, EmbeddingMismatch, Embeddings
from gateway.usecases.archiving import index_name
from storage.errors import StorageError
from storage.lru import Lru
from storage.ports import ArchiveSnapshot, ArchiveStore

BATCH: Final = 16
"""Excerpts of the first batch. Each batch is as large as what came before it, so that an archive of any size is loaded
a handful of times on the way: a batch that is stored makes the archive's epoch advance."""
MAX_BATCH: Final = 4096
WAIT_SECONDS: Final = 0.25
"""What a call waits for the vectors of what it archived, if these are no more than a batch."""
PAUSE_SECONDS: Final = 1.0
"""After a store that did not answer or an embedder that was late."""
MAX_WAITING: Final = 4096
"""Users that wait at the same time; who finds no place is found again when their archive is used again."""
REMEMBERED: Final = 65_536


class Indexer:
    """Embeds for one user after the other. Belongs to one event loop."""

    def __init__(self, archives: ArchiveStore, embeddings: Embeddings) -> None:
        self._archives, self._embeddings = archives, embeddings
        self._waiting: OrderedDict[UserRef, asyncio.Future[None]] = OrderedDict()
        self._worker: asyncio.Task[None] | None = None
        # Archives that were seen to the end, by epoch: what is missing there was refused and is not tried again.
        self._settled: Lru[UserRef, int] = Lru(REMEMBERED)
        self._parked: Lru[tuple[UserRef, int], EmbeddingError] = Lru(REMEMBERED)

    def notice(self, user: UserRef, snapshot: ArchiveSnapshot) -> None:
        """Embed what the archive has no vector of, at some time soon."""
        vectors = snapshot.vectors
        if vectors is None or vectors.count == len(vectors.present):
            return
        if self._settled.get(user) != snapshot.epoch:
            self._enqueue(user)

    async def index(self, user: UserRef, excerpts: int) -> None:
        """Embed what is new before all else, and wait a little where it is at most a batch."""
        done = self._enqueue(user)
        if done is None:
            return
        if user in self._waiting:
            self._waiting.move_to_end(user, last=False)
        if excerpts <= BATCH:
            with suppress(TimeoutError):
                async with asyncio.timeout(WAIT_SECONDS):
                    await asyncio.shield(done)

    async def close(self) -> None:
        """Stop; what is not embedded yet will be when its archive is next used."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker
        for done in self._waiting.values():
            done.cancel()
        self._waiting.clear()

    def _enqueue(self, user: UserRef) -> asyncio.Future[None] | None:
        """The end of the user's turn; None where too many wait."""
        if user not in self._waiting:
            if len(self._waiting) >= MAX_WAITING:
                return None
            self._waiting[user] = asyncio.get_running_loop().create_future()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return self._waiting[user]

    async def _work(self) -> None:
        while self._waiting:
            user, done = self._waiting.popitem(last=False)
            more = failed = False
            try:
                more = await self._batch(user)
            except (StorageError, TimeoutError, EmbedderLate):
                # The archive is found again when it is next used: not at once, or each call would cause an attempt.
                failed = True
            finally:
                if not done.done():
                    done.set_result(None)
            if failed:
                await asyncio.sleep(PAUSE_SECONDS)
            if more:
                self._enqueue(user)

    async def _batch(self, user: UserRef) -> bool:
        """Embed and store some of what a user's archive has no vector of; whether there is more."""
        snapshot = self._archives.peek(user) or await self._archives.load(user)
        missing = self._missing(user, snapshot)
        if not missing or snapshot.vectors is None:
            self._settled.put(user, snapshot.epoch)
            return False
        size = min(max(BATCH, snapshot.vectors.count), MAX_BATCH)
        vectors = await self._embed(user, missing[:size])
        if vectors and not await self._archives.add_vectors(user, self._embeddings.space, vectors):
            # Another gateway was faster, or what is stored of them cannot be read: not to be tried for ever.
            for number in vectors:
                self._parked.put((user, number), EmbeddingMismatch())
        return True

    def _missing(self, user: UserRef, snapshot: ArchiveSnapshot) -> list[Excerpt]:
        if snapshot.vectors is None or snapshot.vectors.space != self._embeddings.space:
            return []
        found = (snapshot.excerpts[index] for index in snapshot.vectors.missing().tolist())
        return [excerpt for excerpt in found if self._parked.get((user, excerpt.no)) is None]

    async def _embed(self, user: UserRef, excerpts: list[Excerpt]) -> dict[int, NDArray[np.float32]]:
        """The vectors, by number. What the embedder fails on is parked for the life of this process. Stops early where
        others wait."""
        vectors: dict[int, NDArray[np.float32]] = {}
        for excerpt in excerpts:
            if self._waiting and len(vectors) >= BATCH:
                break
            try:
                vectors[excerpt.no] = await self._embeddings.document(embedded_text(excerpt))
            except EmbedderLate:
                raise
            except EmbeddingError as error:
                self._parked.put((user, excerpt.no), error)
        return vectors


def embedded_text(excerpt: Excerpt) -> str:
    """The text under which an excerpt is embedded: the one that its index terms are of."""
    day = excerpt.occur_time.astimezone(UTC).date()
    return index_text(index_name(excerpt.role, excerpt.speaker), day, excerpt.text)
