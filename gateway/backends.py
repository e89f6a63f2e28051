"""What lies behind the use cases, opened in order and closed in the opposite one: the other half of `app`.

The drivers of Postgres and Redis are imported only where they are used: a gateway on a data folder starts without them.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from gateway import telemetry
from gateway.config import Settings
from gateway.confirming import Relay, StoredEpochs
from gateway.embedders import open_embeddings
from gateway.usecases.indexing import Indexer
from gateway.usecases.trace_keeping import TraceSpool
from gateway.usecases.vector_search import VectorSearch
from storage.encryption import FileKeyProvider, KeyFileError, KeyProvider
from storage.epochs import EpochBook, LocalEpochs, SharedAnnouncer
from storage.epochs.known import KnownEpochs
from storage.errors import StorageError
from storage.ports import Announcer, Storage
from storage.ports.answers import AnswerCopies
from storage.ports.confirmations import EpochConfirmer
from storage.spool import Drained, Drains, MasterSpoolKeys, Spool, open_spools

if TYPE_CHECKING:
    from storage.postgres import PostgresStorage
    from storage.redis import RedisClient

_DRAIN_SECONDS = 1.0
_MEBIBYTE = 2**20

_log = structlog.stdlib.get_logger("muniment.backends")


class UnusableSettingError(ValueError):
    """A setting that looks right cannot be used here; the text names it and the remedy."""


@dataclass(frozen=True, slots=True)
class Backends:
    """The stores as the use cases get them. `is_shared`: other gateways use them too."""

    storage: Storage
    confirmer: EpochConfirmer
    spool: TraceSpool | None = None
    is_shared: bool = False
    vectors: VectorSearch = field(default_factory=VectorSearch)
    answers: AnswerCopies | None = None

    @classmethod
    def of(cls, storage: Storage) -> "Backends":
        """A storage alone, of which nothing more is known: epochs are looked up in it each time."""
        return cls(storage, StoredEpochs(storage.epochs))

    async def ready(self) -> bool:
        """Whether useful answers are possible: with the stores, or without them as long as the spool takes traces."""
        if self.spool is not None and self.spool.has_room:
            return True
        return await self.storage.ready()


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Backends]:
    """The backends of these settings.

    Raises errors of `storage.errors`, `UnusableSettingError`, and `EmbedderUnavailable`.
    """
    async with AsyncExitStack() as stack:
        if settings.database_url is None:
            yield await _embedded(settings, stack)
        else:
            yield await _shared(settings, stack, settings.database_url.get_secret_value())


async def _embedded(settings: Settings, stack: AsyncExitStack) -> Backends:
    from storage.sqlite import open_sqlite

    relay = Relay()
    provider = None if settings.master_key_file is None else _provider(settings.master_key_file)
    storage = await stack.enter_async_context(
        await open_sqlite(settings.data_dir, announcer=relay, provider=provider)
    )
    relay.to = epochs = LocalEpochs(storage.epochs)
    telemetry.observe_trace_queue(lambda: storage.waiting_writes)
    return Backends(storage, epochs, vectors=_vectors(settings, storage, stack))


async def _shared(settings: Settings, stack: AsyncExitStack, database_url: str) -> Backends:
    assert settings.redis_url is not None
    assert settings.master_key_file is not None
    from storage.redis import RedisAnswers, RedisEpochs, RedisFactCopies, RedisSessions, SharedFacts

    provider = _provider(settings.master_key_file)
    redis = await _redis(settings, stack, settings.redis_url.get_secret_value())
    shared, known = RedisEpochs(redis), KnownEpochs(time.monotonic)
    announcer = SharedAnnouncer(shared, known)
    stack.push_async_callback(announcer.close)
    storage = await _postgres(settings, stack, database_url, provider, announcer)
    # What Redis holds is sealed under keys that lie in the database.
    storage.sessions = sessions = RedisSessions(redis, storage.keys)
    copies, answers = RedisFactCopies(redis, storage.keys), RedisAnswers(redis, storage.keys)
    storage.facts = facts = SharedFacts(storage.facts, copies, known.last)
    stack.push_async_callback(facts.close)
    book = EpochBook(shared, storage.epochs, known)
    stack.push_async_callback(book.close)
    spool = await _spool(settings, provider, storage, stack)
    telemetry.observe("muniment.redis.available", lambda: int(redis.is_available))
    for values in (sessions, copies, answers):
        telemetry.observe("muniment.redis.unreadable", lambda values=values: values.unreadable)
    telemetry.observe("muniment.epochs.untold", lambda: announcer.untold)
    vectors = _vectors(settings, storage, stack)
    return Backends(storage, book, spool, is_shared=True, vectors=vectors, answers=answers)


async def _redis(settings: Settings, stack: AsyncExitStack, url: str) -> "RedisClient":
    from storage.redis import InvalidRedisUrl, connect_redis

    try:
        redis = await connect_redis(url, settings.redis_milliseconds / 1000)
    except InvalidRedisUrl as error:
        raise UnusableSettingError(f"redis_url: {error}") from None
    stack.push_async_callback(redis.close)
    return redis


async def _postgres(
    settings: Settings, stack: AsyncExitStack, url: str, provider: KeyProvider, announcer: Announcer
) -> "PostgresStorage":
    try:
        from storage.postgres import open_postgres
        from storage.postgres.address import AddressError
        from storage.postgres.database import Timeouts
    except ModuleNotFoundError as error:
        raise UnusableSettingError(
            f"database_url: needs {error.name}, which is not installed: pip install 'muniment[postgres]'"
        ) from None
    timeouts = Timeouts(
        read=settings.database_read_seconds,
        write=settings.database_write_seconds,
        append=settings.database_append_seconds,
    )
    try:
        storage = await open_postgres(
            url, provider, announcer=announcer, pool_size=settings.database_pool_size, timeouts=timeouts
        )
    except AddressError as error:
        raise UnusableSettingError(f"database_url: {error}") from None
    await stack.enter_async_context(storage)
    telemetry.observe_trace_queue(lambda: storage.waiting_writes)
    telemetry.observe("muniment.database.connections", lambda: storage.connections_in_use)
    return storage


def _provider(path: Path) -> KeyProvider:
    try:
        return FileKeyProvider(path)
    except KeyFileError as error:
        raise UnusableSettingError(f"master_key_file: {error}") from None


def _vectors(settings: Settings, storage: Storage, stack: AsyncExitStack) -> VectorSearch:
    """The embedder, and the indexer that goes on beside the calls until before the storage is closed."""
    embeddings = open_embeddings(settings.embedder)
    if embeddings is None:
        return VectorSearch()
    stack.callback(embeddings.close)
    storage.archives.carry(embeddings.space)
    indexer = Indexer(storage.archives, embeddings)
    stack.push_async_callback(indexer.close)
    return VectorSearch(embeddings, indexer)


async def _spool(settings: Settings, provider: KeyProvider, storage: Storage, stack: AsyncExitStack) -> Spool:
    """The spool of this process, and the task that drains it and what others left."""
    size = settings.spool_mebibytes * _MEBIBYTE
    spools = await open_spools(settings.data_dir, size, MasterSpoolKeys(provider))
    drains = Drains(spools, storage.traces)
    stack.push_async_callback(drains.close)
    task = asyncio.create_task(_drain_for_ever(drains))
    stack.push_async_callback(_stopped, task)
    telemetry.observe("muniment.spool.depth", lambda: drains.depth)
    telemetry.observe("muniment.spool.bytes", lambda: drains.bytes_used)
    telemetry.observe("muniment.spool.refused", lambda: drains.refused)
    return spools[0]


async def _drain_for_ever(drains: Drains) -> None:
    while True:
        if drains.depth:
            done = await _drained(drains)
            if done.stored or done.refused:
                _log.info("spool_drained", stored=done.stored, refused=done.refused, left=drains.depth)
        await asyncio.sleep(_DRAIN_SECONDS)


async def _drained(drains: Drains) -> Drained:
    try:
        return await drains.drain()
    except StorageError as error:
        # The spool's own file: what can be read of it is drained at the next start.
        _log.error("spool_unreadable", error=type(error).__qualname__)
        return Drained()


async def _stopped(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
