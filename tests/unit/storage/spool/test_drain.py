"""Draining: oldest first, once each, for as long as the store takes them."""

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from storage.conformance.samples import trace
from storage.errors import AlreadyExists, LimitExceeded, NotFound, StorageUnavailable
from storage.ports import TraceDraft
from storage.spool import Drains, Spool, drain, open_spools
from storage.spool.drain import AT_ONCE
from tests.unit.storage.spool.conftest import SIZE, Opening, names
from tests.unit.storage.spool.keys import Keys


@dataclass
class Store:
    """A ledger that takes `takes` traces and is down then; an equal trace is stored once."""

    takes: int = 1_000_000
    stored: dict[str, TraceDraft] = field(default_factory=dict)
    refuses: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    hangs: bool = False

    async def get(self, tenant_id: str, trace_id: str) -> TraceDraft:
        if trace_id not in self.stored:
            raise NotFound("no such trace")
        return self.stored[trace_id]

    async def append(self, draft: TraceDraft) -> Any:
        if self.hangs:
            await asyncio.sleep(3_600)
        if draft.trace_id in self.refuses:
            raise LimitExceeded("traces", 1)
        if self.stored.get(draft.trace_id) == draft:
            return
        if len(self.stored) >= self.takes:
            raise StorageUnavailable("down")
        if draft.turn_id in self.answered:
            raise AlreadyExists("turn_id")
        self.stored[draft.trace_id] = draft


def drains(store: Store, *spools: Spool, seconds: float = 10.0) -> Drains:
    # The ledger above has the one method that draining uses.
    return Drains(spools, store, seconds)  # type: ignore[arg-type]


async def filled(spool: Spool, count: int, prefix: str = "t") -> None:
    await asyncio.gather(*[spool.add(trace(f"{prefix}{number:03}")) for number in range(count)])


async def test_everything_arrives_in_its_order_and_the_file_is_free_again(reopen: Opening):
    spool, store = await reopen(), Store()
    count = AT_ONCE * 2 + 7
    await filled(spool, count)
    assert await drains(store, spool).drain() == (count, 0)
    assert list(store.stored) == [f"t{number:03}" for number in range(count)]
    assert store.stored["t003"] == trace("t003")
    assert (spool.depth, spool.bytes_used) == (0, 0)
    await spool.close()


async def test_after_a_slow_go_the_pause_has_an_end(reopen: Opening, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(drain, "PAUSE", 1e9)
    monkeypatch.setattr(drain, "LONGEST_PAUSE", 0.01)
    spool, store = await reopen(), Store()
    await filled(spool, AT_ONCE * 2)
    async with asyncio.timeout(10):
        assert await drains(store, spool).drain() == (AT_ONCE * 2, 0)
    await spool.close()


async def test_nothing_waits_nothing_happens(reopen: Opening):
    spool = await reopen()
    assert await drains(Store(takes=0), spool).drain() == (0, 0)
    await spool.close()


@pytest.mark.parametrize("takes", [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1])
async def test_a_store_that_goes_down_again_keeps_what_it_took_and_gets_the_rest_later(
    reopen: Opening, takes: int
):
    spool, store = await reopen(), Store(takes=takes)
    await filled(spool, AT_ONCE + 9)
    assert await drains(store, spool).drain() == (takes, 0)
    assert spool.depth == AT_ONCE + 9 - takes
    store.takes = 1_000
    await drains(store, spool).drain()
    assert list(store.stored) == [f"t{number:03}" for number in range(AT_ONCE + 9)]
    await spool.close()


async def test_a_process_that_dies_while_draining_changes_nothing(reopen: Opening):
    spool, store = await reopen(), Store(takes=5)
    await filled(spool, 9)
    await drains(store, spool).drain()
    await spool.close()
    again = await reopen()
    assert again.depth == 9
    store.takes = 1_000
    await drains(store, again).drain()
    assert len(store.stored) == 9
    await again.close()


async def test_a_store_that_hangs_is_given_up_and_asked_again(reopen: Opening):
    spool, store = await reopen(), Store(hangs=True)
    await filled(spool, 3)
    drain = drains(store, spool, seconds=0.05)
    assert await drain.drain() == (0, 0)
    store.hangs = False
    assert await drain.drain() == (3, 0)
    await spool.close()


async def test_one_that_is_refused_for_good_does_not_hold_up_the_others(reopen: Opening):
    spool, store = await reopen(), Store(refuses={"t001"})
    await filled(spool, 4)
    drain = drains(store, spool)
    assert await drain.drain() == (3, 1)
    assert (drain.depth, drain.refused) == (0, 1)
    assert drain.bytes_used > 0
    await spool.close()


async def test_what_others_left_is_drained_and_its_file_removed(tmp_path: Path, keys: Keys):
    (one,) = await open_spools(tmp_path, SIZE, keys)
    (two,) = await open_spools(tmp_path, SIZE, keys)
    await filled(two, 3)
    await one.close()
    await two.close()
    store = Store()
    drain = drains(store, *await open_spools(tmp_path, SIZE, keys))
    assert drain.depth == 3
    assert await drain.drain() == (3, 0)
    assert names(tmp_path) == ["spool-0"]
    await drain.close()


async def test_traces_may_come_while_others_go(reopen: Opening):
    spool, store = await reopen(), Store()
    await filled(spool, 40)
    drain = drains(store, spool)
    await asyncio.gather(drain.drain(), filled(spool, 40, "u"))
    await drain.drain()
    assert sorted(store.stored) == sorted(
        [f"t{number:03}" for number in range(40)] + [f"u{number:03}" for number in range(40)]
    )
    assert spool.bytes_used == 0
    await spool.close()


async def test_a_second_answer_of_a_turn_stands_beside_the_first(reopen: Opening):
    spool, store = await reopen(), Store(answered={"turn-of-t001"})
    await filled(spool, 3)
    assert await drains(store, spool).drain() == (3, 0)
    kept = store.stored["t001"]
    assert kept == replace(trace("t001"), turn_id="turn-of-t001~t001")
    assert (kept.turn, kept.request_id) == (None, "")
    # A process that died before it could note that draws it once more.
    await filled(spool, 3)
    assert await drains(store, spool).drain() == (3, 0)
    assert len(store.stored) == 3
    await spool.close()
