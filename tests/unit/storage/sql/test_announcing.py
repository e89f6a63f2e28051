"""Stores announce the epochs of what they changed after the commit, before the write is acknowledged."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from assemblers.records import UserRef
from storage.conformance.samples import (
    NOW,
    SESSION,
    USER,
    archived,
    fact,
    policy,
    prefix,
    receipt,
    refused,
    trace,
    turn,
    usage,
)
from storage.errors import NotFound, Repeated
from storage.ports import FactSelector, Storage
from storage.sqlite import open_sqlite

Step = Callable[[Storage], Awaitable[object]]


class Recorder:
    """Writes down what it is told, and waits with its answer while it is held."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.go_on.set()

    async def user_changed(self, user: UserRef, facts: int | None, archive: int | None) -> None:
        await self._tell((user, facts, archive))

    async def tenant_changed(self, tenant_id: str, epoch: int) -> None:
        await self._tell((tenant_id, epoch))

    async def _tell(self, news: tuple[object, ...]) -> None:
        self.told.append(news)
        self.begun.set()
        await self.go_on.wait()


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
async def storage(tmp_path: Path, recorder: Recorder) -> AsyncIterator[Storage]:
    async with await open_sqlite(tmp_path, announcer=recorder) as opened:
        yield opened


FACTS: list[Step] = [
    lambda s: s.facts.record(USER, [fact("a"), fact("b")], NOW, receipt("r")),
    lambda s: s.facts.invalidate(USER, FactSelector(key="a"), "", NOW, receipt()),
    lambda s: s.facts.delete(USER, 2, "", NOW, receipt()),
]
ARCHIVE: list[Step] = [
    lambda s: s.archives.append(USER, [archived("s", "a")], NOW, receipt()),
    lambda s: s.transcripts.end(SESSION, archived("s1", "a"), NOW, receipt()),
]
TENANT: list[Step] = [
    lambda s: s.policies.register(policy(), receipt()),
    lambda s: s.policies.activate("acme", "support", policy().digest, None, "", NOW, receipt()),
    lambda s: s.prefixes.register(prefix(), receipt()),
    lambda s: s.usage.report(usage("x1"), receipt()),
]


async def test_each_change_is_announced_once_with_its_epoch(storage: Storage, recorder: Recorder) -> None:
    await storage.traces.append(trace("x1"))
    for step in (*FACTS, *ARCHIVE, *TENANT):
        await step(storage)
    assert recorder.told == [
        *[(USER, epoch, None) for epoch in (1, 2, 3)],
        *[(USER, None, epoch) for epoch in (1, 2)],
        *[("acme", epoch) for epoch in (1, 2, 3, 4)],
    ]


async def test_what_changes_nothing_is_not_announced(storage: Storage, recorder: Recorder) -> None:
    await storage.traces.append(trace("x1", kept=turn("t")))
    await storage.facts.record(USER, [], NOW, receipt())
    await storage.facts.invalidate(USER, FactSelector(), "", NOW, receipt())
    await storage.transcripts.record(SESSION, [turn("t1")], NOW, None, receipt())
    await storage.transcripts.end(SESSION, None, NOW, receipt())
    await storage.users.pseudonym(USER)
    assert recorder.told == []


async def test_what_is_refused_is_not_announced(storage: Storage, recorder: Recorder) -> None:
    with refused(NotFound):
        await storage.facts.delete(USER, 9, "", NOW, receipt())
    assert recorder.told == []


REPEATABLE: list[Step] = [
    lambda s: s.facts.record(USER, [fact("a")], NOW, receipt("r")),
    lambda s: s.facts.invalidate(USER, FactSelector(key="a"), "", NOW, receipt("i")),
    lambda s: s.archives.append(USER, [archived("s", "a")], NOW, receipt("a")),
    lambda s: s.transcripts.end(SESSION, archived("s1", "a"), NOW, receipt("e")),
    lambda s: s.policies.register(policy(), receipt("p")),
    lambda s: s.prefixes.register(prefix(), receipt("x")),
    lambda s: s.usage.report(usage("x1"), receipt("u")),
]


@pytest.mark.parametrize("step", REPEATABLE)
async def test_a_repeat_announces_what_the_first_may_have_died_before_announcing(
    storage: Storage, recorder: Recorder, step: Step
) -> None:
    await storage.traces.append(trace("x1"))
    for other in REPEATABLE:
        await other(storage)
    recorder.told.clear()
    with refused(Repeated):
        await step(storage)
    epochs = await storage.epochs.read(USER)
    assert recorder.told in ([(USER, epochs.facts, epochs.archive)], [("acme", epochs.tenant)])


@pytest.mark.parametrize("step", [FACTS[0], ARCHIVE[0], TENANT[0], TENANT[2]])
async def test_a_write_is_durable_when_it_is_announced_and_acknowledged_after_that(
    storage: Storage, recorder: Recorder, step: Step
) -> None:
    recorder.go_on.clear()
    write = asyncio.ensure_future(step(storage))
    await recorder.begun.wait()
    assert not write.done()
    epochs = await storage.epochs.read(USER)
    assert sum((epochs.facts, epochs.archive, epochs.tenant)) == 1
    recorder.go_on.set()
    await write


async def test_a_caller_that_leaves_while_it_is_announced_leaves_nothing_old_in_memory(
    storage: Storage, recorder: Recorder
) -> None:
    await storage.facts.load(USER)
    recorder.go_on.clear()
    write = asyncio.ensure_future(storage.facts.record(USER, [fact("a")], NOW, receipt()))
    await recorder.begun.wait()
    write.cancel()
    await asyncio.wait([write])
    assert [item.key for item in (await storage.facts.load(USER)).facts] == ["a"]
