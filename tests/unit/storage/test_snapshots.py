"""The snapshot cache: one load for all, bounded, and never what was loaded before a change."""

import asyncio

import pytest

from assemblers.records import UserRef
from storage.snapshots import SnapshotCache

ANN, BOB, CARL = (UserRef("acme", name) for name in ("ann", "bob", "carl"))


class Source:
    """Data that changes, and loads of it that end when they are told to."""

    def __init__(self) -> None:
        self.value, self.loads = "1", 0
        self.gate, self.began = asyncio.Event(), asyncio.Event()
        self.gate.set()

    async def load(self, user: UserRef) -> str:
        self.loads += 1
        self.began.set()
        value = self.value
        await self.gate.wait()
        if value == "broken":
            raise RuntimeError("broken")
        return value


def cache_of(source: Source, max_bytes: int = 100) -> SnapshotCache[str]:
    return SnapshotCache(source.load, len, max_bytes)


async def test_many_callers_share_one_load() -> None:
    source = Source()
    cache = cache_of(source)
    assert cache.peek(ANN) is None
    assert await asyncio.gather(*(cache.get(ANN) for _ in range(5))) == ["1"] * 5
    assert (cache.peek(ANN), source.loads) == ("1", 1)


async def test_what_a_load_began_before_a_change_brings_is_not_kept() -> None:
    source = Source()
    source.gate.clear()
    cache = cache_of(source)
    early = asyncio.ensure_future(cache.get(ANN))
    await source.began.wait()
    source.began.clear()
    source.value = "2"
    cache.forget(ANN)
    late = asyncio.ensure_future(cache.get(ANN))
    await source.began.wait()
    source.gate.set()
    assert list(await asyncio.gather(early, late)) == ["1", "2"]
    assert cache.peek(ANN) == "2"


async def test_a_caller_that_gives_up_leaves_the_load_to_the_others() -> None:
    source = Source()
    source.gate.clear()
    cache = cache_of(source)
    callers = [asyncio.ensure_future(cache.get(ANN)) for _ in range(2)]
    await asyncio.sleep(0)
    callers[0].cancel()
    source.gate.set()
    assert await callers[1] == "1"


async def test_a_failed_load_is_told_and_tried_anew() -> None:
    source = Source()
    source.value = "broken"
    cache = cache_of(source)
    with pytest.raises(RuntimeError):
        await cache.get(ANN)
    source.value = "mended"
    assert await cache.get(ANN) == "mended"


async def test_a_failed_load_that_nobody_waits_for_makes_no_noise() -> None:
    source = Source()
    source.value = "broken"
    source.gate.clear()
    cache = cache_of(source)
    caller = asyncio.ensure_future(cache.get(ANN))
    await asyncio.sleep(0)
    caller.cancel()
    source.gate.set()
    await asyncio.sleep(0.01)
    assert cache.peek(ANN) is None


async def test_the_one_used_longest_ago_gives_way() -> None:
    source = Source()
    source.value = "x" * 40
    cache = cache_of(source)
    await cache.get(ANN)
    await cache.get(BOB)
    cache.peek(ANN)
    await cache.get(CARL)
    assert [cache.peek(user) is None for user in (ANN, BOB, CARL)] == [False, True, False]
    assert cache.bytes_held == 80


async def test_what_is_too_large_is_given_and_not_kept() -> None:
    source = Source()
    source.value = "x" * 101
    cache = cache_of(source)
    assert len(await cache.get(ANN)) == 101
    assert (cache.peek(ANN), cache.bytes_held) == (None, 0)


async def test_forgetting_frees() -> None:
    source = Source()
    cache = cache_of(source)
    await cache.get(ANN)
    cache.forget(ANN)
    cache.forget(ANN)
    assert (cache.peek(ANN), cache.bytes_held) == (None, 0)
