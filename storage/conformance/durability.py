"""What was acknowledged is there after the store was closed and opened again."""

from storage.conformance.backend import Backend
from storage.conformance.samples import (
    ALL,
    NOW,
    SESSION,
    USER,
    archived,
    fact,
    later,
    policy,
    prefix,
    receipt,
    refused,
    trace,
    turn,
    usage,
)
from storage.errors import Repeated, StorageUnavailable
from storage.ledger import verify
from storage.ports import FactSelector, Storage


async def fill(storage: Storage) -> None:
    """A thing of every durable kind."""
    await storage.facts.record(USER, [fact("a"), fact("b")], NOW, receipt())
    await storage.facts.record(USER, [fact("a", "USD", later(hours=1))], NOW, receipt("r"))
    await storage.facts.delete(USER, 2, "", NOW, receipt())
    await storage.archives.append(USER, [archived("old", "one", "two")], NOW, receipt())
    await storage.transcripts.record(SESSION, [turn("t1"), turn("t2")], NOW, later(days=1), receipt())
    await storage.traces.append(trace("x1", turn_id="t3", kept=turn("t3")))
    await storage.usage.report(usage("x1"), receipt())
    await storage.policies.register(policy(), receipt())
    await storage.policies.activate("acme", "support", policy().digest, None, "", NOW, receipt())
    await storage.prefixes.register(prefix(), receipt())
    await storage.users.pseudonym(USER)


async def contents(storage: Storage) -> list[object]:
    """All that `fill` stored."""
    archive = await storage.archives.load(USER)
    return [
        await storage.facts.load(USER),
        await storage.facts.list(USER, FactSelector(include_retired=True), ALL),
        (archive.epoch, archive.excerpts),
        await storage.transcripts.list(SESSION, NOW, ALL),
        await storage.traces.chain("acme", 0, 10),
        await storage.traces.answered(SESSION, "t3", NOW),
        await storage.usage.observations("acme", "anthropic"),
        await storage.policies.active("acme", ""),
        await storage.policies.head("acme", "support"),
        await storage.prefixes.find("acme", "main", ""),
        await storage.users.pseudonym(USER),
    ]


class DurabilitySuite:
    """Closing and opening again."""

    async def test_everything_is_there_again(self, backend: Backend) -> None:
        storage = await backend.open()
        await fill(storage)
        before = await contents(storage)
        await storage.close()
        storage = await backend.open()
        assert await contents(storage) == before
        with refused(Repeated):
            await storage.facts.record(USER, [fact()], NOW, receipt("r"))
        await storage.close()

    async def test_numbers_and_the_chain_go_on(self, backend: Backend) -> None:
        for index in range(3):
            storage = await backend.open()
            (written,) = await storage.facts.record(USER, [fact(f"k{index}")], NOW, receipt())
            seal = await storage.traces.append(trace(f"x{index}"))
            assert (written.fact.no, seal.sequence) == (index + 1, index + 1)
            assert verify(await storage.traces.chain("acme", 0, 10)) is None
            await storage.close()

    async def test_an_open_store_is_ready_and_a_closed_one_is_not(self, backend: Backend) -> None:
        storage = await backend.open()
        assert await storage.ready()
        await storage.close()
        assert not await storage.ready()
        with refused(StorageUnavailable):
            await storage.facts.record(USER, [fact()], NOW, receipt())
