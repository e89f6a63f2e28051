"""Changes are announced before anybody learns of them, and again where that failed."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from assemblers.records import UserRef
from storage.conformance.samples import USER
from storage.epochs import KnownEpochs, SharedAnnouncer
from storage.epochs import announcer as announcing
from storage.ports.epochs import Epochs
from tests.epoch_model import ModelEpochs
from tests.unit.storage.epochs.parts import settled


@pytest.fixture
async def announcer(shared: ModelEpochs, known: KnownEpochs) -> AsyncIterator[SharedAnnouncer]:
    made = SharedAnnouncer(shared, known, repeat_seconds=0.01)
    yield made
    await made.close()


async def until(shared: ModelEpochs, key: UserRef | str) -> None:
    async with asyncio.timeout(5):
        while key not in shared.entries:  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(0.005)


async def test_a_change_is_announced_when_the_call_returns(
    announcer: SharedAnnouncer, shared: ModelEpochs
) -> None:
    await announcer.user_changed(USER, 4, None)
    await announcer.tenant_changed("acme", 7)
    assert shared.entries[USER].epochs == (4, 0)
    assert shared.entries["acme"].epochs == (7, 0)
    assert announcer.untold == 0


async def test_a_lost_announcement_fails_nobody_and_arrives_later(
    announcer: SharedAnnouncer, shared: ModelEpochs
) -> None:
    shared.is_down = True
    await announcer.user_changed(USER, 4, None)
    await announcer.user_changed(USER, None, 9)
    await announcer.tenant_changed("acme", 7)
    assert announcer.untold == 2
    shared.is_down = False
    await until(shared, "acme")
    assert shared.entries[USER].epochs == (4, 9)
    assert announcer.untold == 0


async def test_while_the_cache_is_down_one_attempt_a_time_is_made(
    announcer: SharedAnnouncer, shared: ModelEpochs
) -> None:
    shared.is_down = True
    for number in range(20):
        await announcer.user_changed(UserRef("acme", f"u{number}"), 1, None)
    asked = shared.asked
    await asyncio.sleep(0.035)
    assert announcer.untold == 20
    assert shared.asked - asked <= 4


async def test_a_caller_that_gives_up_does_not_take_the_announcement_along(
    announcer: SharedAnnouncer, shared: ModelEpochs
) -> None:
    caller = asyncio.create_task(announcer.user_changed(USER, 4, None))
    await asyncio.sleep(0)
    caller.cancel()
    await settled()
    assert caller.cancelled()
    assert shared.entries[USER].epochs == (4, 0)


async def test_this_process_knows_of_its_change_before_the_cache_does(
    announcer: SharedAnnouncer, shared: ModelEpochs, known: KnownEpochs
) -> None:
    shared.is_down = True
    await announcer.user_changed(USER, 4, 2)
    await announcer.tenant_changed("acme", 7)
    assert known.floor(USER) == Epochs(4, 2, 7)


async def test_beyond_a_bound_the_oldest_untold_change_is_left_to_time(
    announcer: SharedAnnouncer, shared: ModelEpochs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "MAX_UNTOLD", 2)
    shared.is_down = True
    for name in ("one", "two", "three"):
        await announcer.user_changed(UserRef("acme", name), 1, None)
    assert announcer.untold == 2
