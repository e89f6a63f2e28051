"""Facts and archives are shown as new as they are confirmed, in time, and as stale for a minute at most."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assemblers.policy.model import FactsSection, HistorySection, Policy, Section
from assemblers.records import Degradation, SectionKind
from gateway.deadline import Deadline
from gateway.usecases.freshness import MOST_STALE_SECONDS, Freshness, Standing
from gateway.usecases.gather import Gathered, Gatherer
from storage.conformance.samples import NOW, USER, archived, fact, receipt
from storage.ports import Epochs
from storage.ports.confirmations import Confirmation, EpochSource
from storage.sqlite import open_sqlite
from tests.faulty import FaultyStorage

POLICY = Policy(
    "memory", (Section(SectionKind.FACTS, FactsSection()), Section(SectionKind.HISTORY, HistorySection()))
)
BARE = Policy("bare", ())


@dataclass
class Scene:
    """A user with a fact and an archive, whose epochs are confirmed as a test says."""

    storage: FaultyStorage
    now: float = 0.0

    def __post_init__(self) -> None:
        # Standings are given: nobody is asked.
        nobody: Any = None
        self.freshness = Freshness(self.storage.port, nobody, lambda: self.now)
        self.gatherer = Gatherer(self.freshness)

    async def gather(
        self, source: EpochSource | None, epochs: Epochs, seconds: float = 5.0, policy: Policy = POLICY
    ) -> Gathered:
        confirmation = None if source is None else Confirmation(epochs, source, 0.0)
        return await self.gatherer.gather(
            USER, policy, Standing(confirmation, epochs), Deadline.after(seconds)
        )


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with await open_sqlite(tmp_path) as opened:
        await opened.facts.record(USER, [fact()], NOW, receipt())
        await opened.archives.append(USER, [archived("old", "one")], NOW, receipt())
        yield Scene(FaultyStorage(opened))


def said(found: Gathered) -> list[tuple[str, str, str]]:
    def words(degradation: Degradation) -> tuple[str, str, str]:
        return degradation.section.value, degradation.status.value, degradation.reason.value

    return [words(degradation) for degradation in found.degradations]


NOW_EPOCHS = Epochs(1, 1, 0)


async def test_what_is_in_memory_and_current_is_not_loaded(scene: Scene):
    await scene.gather(EpochSource.SQL, NOW_EPOCHS)
    loads = scene.storage.sql.calls.count("load")
    found = await scene.gather(EpochSource.SHARED, NOW_EPOCHS)
    assert found.facts is not None
    assert found.archive is not None
    assert (loads, scene.storage.sql.calls.count("load"), said(found)) == (2, 2, [])


async def test_what_is_behind_is_loaded_anew(scene: Scene):
    await scene.gather(EpochSource.SQL, NOW_EPOCHS)
    # As another process would: this one's store learns nothing.
    stale = scene.storage.port.facts.peek(USER)
    await scene.storage.port.facts.record(USER, [fact("plan", "team")], NOW, receipt())
    scene.storage.port.facts._port._cache._keep(USER, stale)  # type: ignore[attr-defined]
    found = await scene.gather(EpochSource.SQL, Epochs(2, 1, 0))
    assert found.facts is not None
    assert (found.facts.epoch, len(found.facts.facts)) == (2, 2)


@pytest.mark.parametrize("late", ["facts", "archive"])
async def test_what_is_late_is_left_out_and_the_other_is_there(scene: Scene, late: str):
    await scene.gather(EpochSource.SQL, NOW_EPOCHS)
    store = scene.storage.port.facts if late == "facts" else scene.storage.port.archives
    store.forget(USER)
    scene.storage.sql.slow(30, "load")
    found = await scene.gather(EpochSource.SQL, NOW_EPOCHS, seconds=0.1)
    missing = "FACTS" if late == "facts" else "HISTORY"
    assert said(found) == [(missing, "UNAVAILABLE", "LATE")]
    assert (found.facts is None, found.archive is None) == (late == "facts", late == "archive")


async def test_a_store_that_fails_is_unavailable(scene: Scene):
    scene.storage.sql.out("load")
    found = await scene.gather(EpochSource.SQL, NOW_EPOCHS)
    assert said(found) == [("FACTS", "UNAVAILABLE", "UNAVAILABLE"), ("HISTORY", "UNAVAILABLE", "UNAVAILABLE")]


async def test_a_store_behind_what_the_caller_saw_is_not_shown(scene: Scene):
    found = await scene.gather(EpochSource.SHARED, Epochs(7, 1, 0))
    assert said(found) == [("FACTS", "UNAVAILABLE", "UNAVAILABLE")]
    assert found.facts is None


@pytest.mark.parametrize(
    ("seconds", "status"), [(MOST_STALE_SECONDS, "STALE"), (MOST_STALE_SECONDS + 1, "UNAVAILABLE")]
)
async def test_what_was_current_is_shown_as_stale_for_a_minute(scene: Scene, seconds: float, status: str):
    await scene.gather(EpochSource.SQL, NOW_EPOCHS)
    scene.now += seconds
    loads = scene.storage.sql.calls.count("load")
    found = await scene.gather(EpochSource.SHARED_ALONE, NOW_EPOCHS)
    assert [(section, found_status) for section, found_status, _ in said(found)] == [
        ("FACTS", status), ("HISTORY", status),
    ]  # fmt: skip
    assert (found.facts is None) == (found.archive is None) == (status == "UNAVAILABLE")
    assert scene.storage.sql.calls.count("load") == loads


async def test_what_memory_alone_confirms_is_shown_and_nothing_is_asked(scene: Scene):
    await scene.gather(EpochSource.SQL, NOW_EPOCHS)
    scene.storage.port.archives.forget(USER)
    loads = scene.storage.sql.calls.count("load")
    found = await scene.gather(EpochSource.MEMORY, NOW_EPOCHS)
    assert said(found) == [("HISTORY", "UNAVAILABLE", "UNAVAILABLE")]
    assert found.facts is not None
    assert scene.storage.sql.calls.count("load") == loads


async def test_a_copy_of_another_gateway_is_shown_as_stale(scene: Scene):
    """Here the store itself plays the copy: it answers, and SQL does not confirm."""
    found = await scene.gather(EpochSource.SHARED_ALONE, NOW_EPOCHS)
    assert found.facts is not None
    assert [(section, status) for section, status, _ in said(found)] == [
        ("FACTS", "STALE"), ("HISTORY", "UNAVAILABLE"),
    ]  # fmt: skip


async def test_nobody_can_say(scene: Scene):
    await scene.gather(EpochSource.SQL, NOW_EPOCHS)
    found = await scene.gather(None, Epochs())
    assert [(section, status) for section, status, _ in said(found)] == [
        ("FACTS", "DENIED"), ("HISTORY", "DENIED"),
    ]  # fmt: skip
    assert (found.facts, found.archive) == (None, None)


async def test_a_policy_without_them_misses_nothing(scene: Scene):
    for source in (None, *EpochSource):
        assert await scene.gather(source, NOW_EPOCHS, policy=BARE) == Gathered(None, None)
