"""Mirrors: nothing is looked up twice, nothing can be known, and what changed meanwhile is not kept."""

import asyncio

import pytest

from storage.mirrors import Key, Mirror


class Source:
    """Counts what is read of it; a gate holds reads up."""

    def __init__(self, value: str | None) -> None:
        self.value = value
        self.reads = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def read(self) -> str | None:
        self.reads += 1
        value = self.value
        await self.gate.wait()
        return value


def numbered(*numbers: int) -> list[Key]:
    return [("acme", str(number)) for number in numbers]


async def test_a_known_nothing_is_not_looked_up_again() -> None:
    mirror: Mirror[str | None] = Mirror(2)
    source = Source(None)
    assert await mirror.get(("acme", "x"), source.read) is None
    assert await mirror.get(("acme", "x"), source.read) is None
    assert source.reads == 1
    mirror.forget(("acme", "x"))
    await mirror.get(("acme", "x"), source.read)
    assert source.reads == 2


async def test_a_value_that_is_here_is_given_without_waiting() -> None:
    mirror: Mirror[str | None] = Mirror(2)
    source = Source("v")
    await mirror.get(("acme", "x"), source.read)
    call = mirror.get(("acme", "x"), source.read)
    with pytest.raises(StopIteration) as done:
        call.send(None)
    assert done.value.value == "v"


async def test_the_one_used_longest_ago_gives_way() -> None:
    mirror: Mirror[str | None] = Mirror(2)
    source = Source("v")
    one, two, three = numbered(1, 2, 3)
    for key in (one, two, one, three, one):
        await mirror.get(key, source.read)
    assert (len(mirror), source.reads) == (2, 3)
    await mirror.get(two, source.read)
    assert source.reads == 4


async def test_those_who_ask_together_share_one_look_up() -> None:
    mirror: Mirror[str | None] = Mirror(2)
    source = Source("v")
    assert await asyncio.gather(*(mirror.get(("acme", "x"), source.read) for _ in range(3))) == ["v"] * 3
    assert source.reads == 1


async def test_what_changed_while_it_was_looked_up_is_not_kept() -> None:
    mirror: Mirror[str | None] = Mirror(2)
    source = Source("old")
    source.gate.clear()
    before = asyncio.ensure_future(mirror.get(("acme", "x"), source.read))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    source.value = "new"
    mirror.forget(("acme", "x"))
    source.gate.set()
    assert await mirror.get(("acme", "x"), source.read) == "new"
    assert await before == "old"
    assert await mirror.get(("acme", "x"), source.read) == "new"


async def test_a_tenant_is_forgotten_alone_and_with_what_is_being_looked_up() -> None:
    mirror: Mirror[str | None] = Mirror(8)
    source = Source("old")
    await mirror.get(("acme", "x"), source.read)
    await mirror.get(("umbrella", "x"), source.read)
    source.gate.clear()
    slow = asyncio.ensure_future(mirror.get(("acme", "y"), source.read))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    mirror.forget_tenant("acme")
    source.gate.set()
    await slow
    source.value = "new"
    assert [await mirror.get(("acme", name), source.read) for name in "xy"] == ["new", "new"]
    assert await mirror.get(("umbrella", "x"), source.read) == "old"


async def test_a_known_change_is_applied_to_what_is_here_only() -> None:
    mirror: Mirror[str | None] = Mirror(2)
    source = Source("v")
    mirror.change(("acme", "x"), lambda value: f"{value}!")
    assert await mirror.get(("acme", "x"), source.read) == "v"
    mirror.change(("acme", "x"), lambda value: f"{value}!")
    assert await mirror.get(("acme", "x"), source.read) == "v!"
    mirror.change(("acme", "x"), lambda _: None)
    assert (len(mirror), await mirror.get(("acme", "x"), source.read)) == (0, "v")
