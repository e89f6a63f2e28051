"""Facts are taken from a shared copy where its epoch is the confirmed one, and from their store otherwise."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from assemblers.records import UserRef
from storage.conformance.samples import NOW, USER, fact, receipt
from storage.epochs import KnownEpochs
from storage.errors import StorageUnavailable
from storage.ports import FactSelector, FactSnapshot, FactStore, PageRequest
from storage.ports.epochs import Epochs
from storage.redis import SharedFacts
from storage.sqlite import open_sqlite


class Copies:
    """The shared copies, in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[UserRef, FactSnapshot] = {}
        self.is_down = False
        self.asked = 0

    async def get(self, user: UserRef) -> FactSnapshot | None:
        self.asked += 1
        if self.is_down:
            raise StorageUnavailable("down")
        return self.kept.get(user)

    async def put(self, user: UserRef, snapshot: FactSnapshot) -> None:
        if self.is_down:
            raise StorageUnavailable("down")
        self.kept[user] = snapshot


class Scene:
    """Two gateways on one store: `first` has it in memory, `second` is new."""

    def __init__(self, store: FactStore, outage: "Outage") -> None:
        self.copies = Copies()
        self.known = KnownEpochs(lambda: 0.0)
        self.outage = outage
        self.first = SharedFacts(store, self.copies, self.known.last)
        self.second = SharedFacts(outage, self.copies, self.known.last)

    def confirm(self, facts: int) -> None:
        self.known.note(USER, Epochs(facts))

    async def close(self) -> None:
        await self.first.close()
        await self.second.close()


class Outage:
    """A store that has nothing in memory; loads come from `store` unless it is down."""

    def __init__(self, store: FactStore) -> None:
        self._store = store
        self.is_down = False
        self.loads = 0
        self.list, self.get = store.list, store.get
        self.record, self.invalidate, self.delete = store.record, store.invalidate, store.delete

    def peek(self, user: UserRef) -> FactSnapshot | None:
        return None

    async def load(self, user: UserRef) -> FactSnapshot:
        self.loads += 1
        if self.is_down:
            raise StorageUnavailable("down")
        return await self._store.load(user)

    def forget(self, user: UserRef) -> None:
        self._store.forget(user)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with await open_sqlite(tmp_path / "data") as storage:
        await storage.facts.record(USER, [fact("k", "one")], NOW, receipt())
        made = Scene(storage.facts, Outage(storage.facts))
        yield made
        await made.close()


async def copied(scene: Scene) -> FactSnapshot:
    snapshot = await scene.first.load(USER)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert scene.copies.kept[USER] == snapshot
    return snapshot


async def test_a_new_gateway_takes_the_copy_of_the_confirmed_epoch(scene: Scene) -> None:
    snapshot = await copied(scene)
    scene.confirm(snapshot.epoch)
    assert await scene.second.load(USER) == snapshot
    assert scene.second.peek(USER) == snapshot
    assert scene.outage.loads == 0


async def test_it_has_facts_while_sql_is_down(scene: Scene) -> None:
    snapshot = await copied(scene)
    scene.confirm(snapshot.epoch)
    scene.outage.is_down = True
    assert await scene.second.load(USER) == snapshot


async def test_a_copy_that_is_behind_is_not_taken(scene: Scene) -> None:
    snapshot = await copied(scene)
    scene.confirm(snapshot.epoch + 1)
    scene.outage.is_down = True
    with pytest.raises(StorageUnavailable):
        await scene.second.load(USER)


async def test_without_a_confirmation_no_copy_is_asked_for(scene: Scene) -> None:
    await copied(scene)
    asked = scene.copies.asked
    await scene.second.load(USER)
    assert (scene.copies.asked, scene.outage.loads) == (asked, 1)


async def test_without_the_shared_cache_facts_come_from_their_store(scene: Scene) -> None:
    scene.copies.is_down = True
    scene.confirm(1)
    assert [item.value for item in (await scene.second.load(USER)).facts] == ["one"]


async def test_what_was_taken_is_forgotten_with_the_rest(scene: Scene) -> None:
    scene.confirm((await copied(scene)).epoch)
    await scene.second.load(USER)
    scene.second.forget(USER)
    assert scene.second.peek(USER) is None


@pytest.mark.parametrize("change", ["record", "invalidate", "delete"])
async def test_a_write_through_it_forgets_what_was_taken(scene: Scene, change: str) -> None:
    scene.confirm((await copied(scene)).epoch)
    await scene.second.load(USER)
    if change == "record":
        await scene.second.record(USER, [fact("k", "two")], NOW, receipt())
    elif change == "invalidate":
        await scene.second.invalidate(USER, FactSelector(key="k"), "wrong", NOW, receipt())
    else:
        await scene.second.delete(USER, 1, "", NOW, receipt())
    assert scene.second.peek(USER) is None


async def test_of_what_is_loaded_and_what_was_taken_the_newer_counts(scene: Scene) -> None:
    snapshot = await copied(scene)
    newer = FactSnapshot(snapshot.epoch + 1, snapshot.facts)
    scene.copies.kept[USER] = newer
    scene.confirm(newer.epoch)
    scene.outage.is_down = True
    await scene.second.load(USER)
    assert scene.second.peek(USER) == newer
    assert scene.first.peek(USER) == snapshot


async def test_other_reads_go_to_the_store(scene: Scene) -> None:
    assert (await scene.second.get(USER, 1)).value == "one"
    assert len((await scene.second.list(USER, FactSelector(), PageRequest(10))).items) == 1
