"""Unwrapped keys: fresh for a minute, then looked up again, and held through an outage."""

import asyncio

import pytest

from storage.encryption import DataKey, MasterKeyMissing
from storage.encryption.data_key import new_secret
from storage.encryption.key_cache import FRESH_SECONDS, HELD_SECONDS, RETRY_SECONDS, KeyCache
from storage.errors import StorageDamaged, StorageUnavailable
from tests.unit.storage.encryption.conftest import Clock


def a_key() -> DataKey:
    return DataKey({1: new_secret()}, 1)


class Source:
    """Gives keys by owner; `down` raises for all and `errors` for some, `stuck` never answers."""

    def __init__(self) -> None:
        self.keys: dict[str, DataKey] = {}
        self.loads = 0
        self.down = False
        self.stuck: asyncio.Event | None = None
        self.errors: dict[str, Exception] = {}

    async def load(self, owner: str) -> DataKey | None:
        self.loads += 1
        await asyncio.sleep(0)
        if self.stuck is not None:
            await self.stuck.wait()
        if self.down:
            raise StorageUnavailable("down")
        if owner in self.errors:
            raise self.errors[owner]
        return self.keys.get(owner)


@pytest.fixture
def source() -> Source:
    made = Source()
    made.keys = {"ada": a_key(), "bob": a_key(), "cyd": a_key()}
    return made


@pytest.fixture
def cache(source: Source, clock: Clock) -> KeyCache[str]:
    return KeyCache(source.load, clock.monotonic, 2)


async def test_a_key_is_loaded_once_while_it_is_fresh(cache: KeyCache[str], source: Source, clock: Clock):
    assert cache.peek("ada") is None
    assert await cache.get("ada") is source.keys["ada"]
    clock.seconds += FRESH_SECONDS - 0.1
    assert cache.peek("ada") is await cache.get("ada")
    assert source.loads == 1


async def test_a_key_is_looked_up_again_once_it_is_not_fresh(
    cache: KeyCache[str], source: Source, clock: Clock
):
    await cache.get("ada")
    source.keys["ada"] = a_key()
    clock.seconds += FRESH_SECONDS
    assert cache.peek("ada") is None
    assert await cache.get("ada") is source.keys["ada"]


async def test_a_key_that_was_removed_is_gone_after_a_minute(
    cache: KeyCache[str], source: Source, clock: Clock
):
    await cache.get("ada")
    del source.keys["ada"]
    clock.seconds += FRESH_SECONDS
    assert await cache.get("ada") is None
    assert await cache.get("ada") is None


async def test_an_owner_without_a_key_is_asked_for_each_time(cache: KeyCache[str], source: Source):
    assert await cache.get("new") is None
    source.keys["new"] = a_key()
    assert await cache.get("new") is source.keys["new"]


async def test_callers_at_the_same_time_share_a_load(cache: KeyCache[str], source: Source):
    found = await asyncio.gather(*(cache.get("ada") for _ in range(20)))
    assert set(found) == {source.keys["ada"]}
    assert source.loads == 1


async def test_what_was_used_longest_ago_makes_room(cache: KeyCache[str], source: Source):
    for owner in ("ada", "bob", "cyd"):
        await cache.get(owner)
    assert cache.peek("ada") is None
    assert cache.peek("bob") is not None


async def test_an_outage_leaves_a_held_key_in_use_and_is_asked_about_once_a_second(
    cache: KeyCache[str], source: Source, clock: Clock
):
    held = await cache.get("ada")
    source.down = True
    clock.seconds += FRESH_SECONDS
    assert await cache.get("ada") is held
    assert cache.peek("ada") is held
    assert source.loads == 2
    clock.seconds += RETRY_SECONDS
    assert await cache.get("ada") is held
    assert source.loads == 3


async def test_of_all_owners_one_a_second_waits_for_a_store_that_is_out(
    cache: KeyCache[str], source: Source, clock: Clock
):
    held = [await cache.get(owner) for owner in ("ada", "bob")]
    source.down = True
    clock.seconds += FRESH_SECONDS
    assert [await cache.get(owner) for owner in ("ada", "bob")] == held
    assert source.loads == 3


async def test_a_master_key_that_has_not_come_yet_holds_up_its_own_tenant_only(
    cache: KeyCache[str], source: Source, clock: Clock, caplog: pytest.LogCaptureFixture
):
    held = [await cache.get(owner) for owner in ("ada", "bob")]
    clock.seconds += FRESH_SECONDS
    source.errors = {"ada": MasterKeyMissing("mk-new")}
    source.keys["bob"] = a_key()
    assert await cache.get("ada") is await cache.get("ada") is held[0]
    assert await cache.get("bob") is source.keys["bob"]
    assert source.loads == 4
    clock.seconds += RETRY_SECONDS
    assert await cache.get("ada") is held[0]
    # The operator is told once a minute.
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "mk-new" in caplog.text


async def test_a_damaged_key_is_told_and_holds_nobody_elses_back(
    cache: KeyCache[str], source: Source, clock: Clock
):
    await cache.get("ada")
    await cache.get("bob")
    clock.seconds += FRESH_SECONDS
    source.errors = {"ada": StorageDamaged("changed")}
    source.keys["bob"] = a_key()
    with pytest.raises(StorageDamaged):
        await cache.get("ada")
    assert await cache.get("bob") is source.keys["bob"]


async def test_a_store_that_does_not_answer_holds_nobody_up_for_long(
    cache: KeyCache[str], source: Source, clock: Clock
):
    held = await cache.get("ada")
    source.stuck = asyncio.Event()
    clock.seconds += FRESH_SECONDS
    assert await cache.get("ada") is held
    source.keys["ada"] = a_key()
    source.stuck.set()
    for _ in range(3):
        await asyncio.sleep(0)
    # What it answered late counts.
    assert cache.peek("ada") is source.keys["ada"]


async def test_an_outage_without_end_ends_the_use_of_a_key(
    cache: KeyCache[str], source: Source, clock: Clock
):
    await cache.get("ada")
    source.down = True
    clock.seconds += HELD_SECONDS
    with pytest.raises(StorageUnavailable):
        await cache.get("ada")
    assert cache.peek("ada") is None


async def test_during_an_outage_a_key_that_is_not_held_cannot_be_had(cache: KeyCache[str], source: Source):
    source.down = True
    with pytest.raises(StorageUnavailable):
        await cache.get("ada")


async def test_a_load_that_took_long_is_as_old_as_its_beginning(
    cache: KeyCache[str], source: Source, clock: Clock
):
    source.stuck = asyncio.Event()
    waiting = asyncio.create_task(cache.get("ada"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.seconds += FRESH_SECONDS
    source.stuck.set()
    assert await waiting is source.keys["ada"]
    assert cache.peek("ada") is None


async def test_what_was_forgotten_is_looked_up_anew(cache: KeyCache[str], source: Source):
    await cache.get("ada")
    cache.forget("ada")
    assert cache.peek("ada") is None
