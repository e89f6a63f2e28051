"""Confirming epochs without a shared cache, and telling of changes somebody who comes later."""

from pathlib import Path

import pytest

from gateway.confirming import Relay, StoredEpochs
from storage.conformance.samples import NOW, USER, fact, receipt
from storage.epochs import LocalEpochs
from storage.errors import StorageFull, StorageUnavailable
from storage.ports import Epochs
from storage.ports.confirmations import EpochSource
from storage.sqlite import open_sqlite
from tests.faulty import FaultyStorage


async def test_the_store_itself_is_asked_each_time(tmp_path: Path):
    async with await open_sqlite(tmp_path) as storage:
        epochs = StoredEpochs(storage.epochs)
        for number in range(3):
            confirmed = await epochs.confirm(USER)
            assert confirmed is not None
            assert (confirmed.epochs.facts, confirmed.source) == (number, EpochSource.SQL)
            assert epochs.known(USER) is None
            await storage.facts.record(USER, [fact("note", f"value {number}")], NOW, receipt())


@pytest.mark.parametrize("error", [StorageUnavailable, StorageFull])
async def test_a_store_that_cannot_be_read_confirms_nothing(tmp_path: Path, error: type[StorageFull]):
    async with await open_sqlite(tmp_path) as opened:
        storage = FaultyStorage(opened)
        storage.sql.out("read", error=lambda: error("out"))
        assert await StoredEpochs(storage.port.epochs).confirm(USER) is None


async def test_a_relay_passes_on_what_changes_once_there_is_somebody_to_tell(tmp_path: Path):
    relay = Relay()
    async with await open_sqlite(tmp_path, announcer=relay) as storage:
        await storage.facts.record(USER, [fact("note", "before")], NOW, receipt())
        relay.to = epochs = LocalEpochs(storage.epochs)
        first = await epochs.confirm(USER)
        await storage.facts.record(USER, [fact("note", "after")], NOW, receipt())
        second = await epochs.confirm(USER)
    assert first is not None
    assert second is not None
    assert (first.epochs, second.epochs) == (Epochs(1, 0, 0), Epochs(2, 0, 0))
