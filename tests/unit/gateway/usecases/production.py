"""The whole gateway in this process as in production: shared epochs, a spool, and stores that can be made to fail."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.backends import Backends
from gateway.confirming import Relay
from storage.epochs import EpochBook, SharedAnnouncer
from storage.epochs.known import KnownEpochs
from storage.spool import Drains, Spool, open_spools
from storage.sqlite import open_sqlite
from tests.epoch_model import ModelEpochs
from tests.faulty import FaultyStorage
from tests.integration.in_process import Gateway
from tests.integration.talk import Person
from tests.unit.storage.spool.keys import Keys


@dataclass
class Production:
    """A gateway with the handles of its faults. `shared` is what Redis knows of epochs."""

    gateway: Gateway
    backends: Backends
    storage: FaultyStorage
    shared: ModelEpochs
    spool: Spool
    drains: Drains

    @property
    def ada(self) -> Person:
        """A user."""
        return Person(self.gateway)

    def sql_out(self, *only: str) -> None:
        """SQL refuses; what Redis had confirmed is a second old."""
        self.storage.sql.out(*only)
        self.pass_seconds(1)

    def redis_out(self) -> None:
        """Redis refuses."""
        self.shared.is_down = True
        self.storage.cache.out()

    def heal(self) -> None:
        """Everything answers again."""
        self.shared.is_down = False
        self.storage.sql.heal()
        self.storage.cache.heal()
        self.pass_seconds(2)

    def pass_seconds(self, seconds: float) -> None:
        """Let time pass for epochs."""
        self.shared.now += int(seconds * 1000)


@asynccontextmanager
async def production(folder: Path, spool_bytes: int = 1 << 20) -> AsyncIterator[Production]:
    """The gateway over a fresh folder."""
    shared, relay = ModelEpochs(), Relay()
    async with await open_sqlite(folder / "data", announcer=relay) as opened:
        storage = FaultyStorage(opened)
        known = KnownEpochs(lambda: shared.now / 1000)
        relay.to = announcer = SharedAnnouncer(shared, known, repeat_seconds=0.01)
        book = EpochBook(shared, storage.port.epochs, known, lambda: shared.now / 1000)
        (spool,) = await open_spools(folder / "spool", spool_bytes, Keys())
        drains = Drains([spool], storage.port.traces)
        backends = Backends(storage.port, book, spool, is_shared=True)
        gateway = Gateway(storage.port, backends=backends)
        try:
            await gateway.use_desk()
            yield Production(gateway, backends, storage, shared, spool, drains)
        finally:
            await book.close()
            await announcer.close()
            await drains.close()
