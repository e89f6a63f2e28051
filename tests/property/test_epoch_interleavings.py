"""Every order in which gateways read, confirm, commit and announce, with announcements and entries lost on the way.

A small world is explored exhaustively: two confirmations, two commits, one entry lost, time in steps of which two are
more than the second that matters. A confirmation is three steps that others may come between: the gateway reads the
shared cache, it reads SQL, and what it read arrives in the cache, if ever. A write commits, and is announced later, or
never.
"""

from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from assemblers.records import UserRef
from storage.epochs import Mark
from storage.ports.epochs import Epochs
from tests.epoch_model import Entry, ModelEpochs

T = TypeVar("T")

USER = UserRef("acme", "ann")
START = 1_000_000
STEP = 600
"""Milliseconds: one step is well within a second, two are just over."""
CONFIRMATIONS, COMMITS, PASSES = 2, 2, 3


@dataclass(frozen=True)
class World:
    now: int = START
    entry: Entry | None = None
    marks: tuple[int, ...] = ()
    fills: tuple[tuple[int, int], ...] = ()
    """Marks, and what SQL said after them."""
    commits: tuple[int, ...] = ()
    """When each was; SQL has as many epochs as commits, and one to begin with."""
    untold: tuple[int, ...] = ()
    announced: int = 0
    confirmations: int = 0
    passes: int = 0
    lost: int | None = None

    @property
    def truth(self) -> int:
        return 1 + len(self.commits)

    def truth_a_second_ago(self) -> int:
        return 1 + sum(commit <= self.now - 1000 for commit in self.commits)

    def confirmed(self) -> int | None:
        """What a gateway that reads the cache now takes for current; None: it asks SQL."""
        entry = self.entry
        return entry.epochs[0] if entry is not None and entry.is_fresh(self.now) else None


def following(world: World) -> Iterator[World]:
    """Whatever may happen next."""
    if world.passes < PASSES:
        yield replace(world, now=world.now + STEP, passes=world.passes + 1)
    if world.confirmations < CONFIRMATIONS:
        yield replace(world, marks=(*world.marks, world.now), confirmations=world.confirmations + 1)
    for mark in world.marks:
        yield replace(
            world, marks=without(world.marks, mark), fills=tuple(sorted((*world.fills, (mark, world.truth))))
        )
    for fill in world.fills:
        yield replace(world, fills=without(world.fills, fill), entry=after_fill(world, *fill))
    if len(world.commits) < COMMITS:
        untold = (*world.untold, world.truth + 1)
        yield replace(world, commits=(*world.commits, world.now), untold=untold)
    for epoch in world.untold:
        told = max(world.announced, epoch)
        entry = after_announcement(world, epoch)
        yield replace(world, untold=without(world.untold, epoch), announced=told, entry=entry)
    if world.entry is not None and world.lost is None:
        yield replace(world, entry=None, lost=world.now)


def after_fill(world: World, mark: int, facts: int) -> Entry | None:
    cache = cache_of(world)
    done(cache.fill(USER, Epochs(facts), Mark(mark, mark), keep_unknown=False))
    return cache.entries.get(USER)


def after_announcement(world: World, facts: int) -> Entry | None:
    cache = cache_of(world)
    done(cache.announce_user(USER, facts, None))
    return cache.entries.get(USER)


def cache_of(world: World) -> ModelEpochs:
    cache = ModelEpochs()
    cache.now = world.now
    if world.entry is not None:
        cache.entries[USER] = world.entry
    return cache


def done(work: Coroutine[None, None, None]) -> None:
    """The model's steps never wait."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("it waited")


def without(items: tuple[T, ...], item: T) -> tuple[T, ...]:
    place = items.index(item)
    return items[:place] + items[place + 1 :]


def check(world: World) -> None:
    confirmed = world.confirmed()
    if confirmed is None:
        return
    assert confirmed <= world.truth, "an epoch that never was"
    assert confirmed >= world.truth_a_second_ago(), "fresh, and more than a second old"
    # What was under way when an entry was lost may bring back what that had outdone, for a second.
    if world.lost is None or world.now - world.lost >= 1000:
        assert confirmed >= world.announced, "less than what was announced"


def test_no_order_of_steps_breaks_what_is_promised() -> None:
    seen, waiting = {World()}, [World()]
    fresh = lost = late = 0
    while waiting:
        world = waiting.pop()
        check(world)
        fresh += world.confirmed() is not None
        lost += world.lost is not None
        late += bool(world.fills) and world.now - world.fills[0][0] >= 1000
        new = [state for state in following(world) if state not in seen]
        seen.update(new)
        waiting += new
    # The exploration met what it is about.
    assert min(fresh, lost, late) > 1000
