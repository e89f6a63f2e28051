"""Epochs: each change of a thing grows its own epoch and no other, and nothing else does."""

from collections.abc import Awaitable, Callable
from functools import partial

from assemblers.records import SessionRef, UserRef
from storage.conformance.samples import (
    FOREIGN,
    NOW,
    OTHER,
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
from storage.errors import NotFound, Repeated
from storage.ports import Epochs, FactSelector, Storage

Step = Callable[[], Awaitable[object]]


async def grown(storage: Storage, step: Step, user: UserRef = USER) -> Epochs:
    """By how much a step makes the epochs of a user grow."""
    before = await storage.epochs.read(user)
    await step()
    after = await storage.epochs.read(user)
    return Epochs(after.facts - before.facts, after.archive - before.archive, after.tenant - before.tenant)


def fact_changes(storage: Storage) -> list[Step]:
    """Each changes the user's facts."""
    return [
        lambda: storage.facts.record(USER, [fact("a"), fact("b")], NOW, receipt("r")),
        lambda: storage.facts.record(USER, [fact("a", "late", later(hours=-1))], NOW, receipt()),
        lambda: storage.facts.invalidate(USER, FactSelector(key="a"), "", NOW, receipt()),
        lambda: storage.facts.delete(USER, 2, "", NOW, receipt()),
    ]


def archive_changes(storage: Storage) -> list[Step]:
    """Each changes the user's archive."""
    return [
        lambda: storage.archives.append(USER, [archived("s", "a", "b")], NOW, receipt()),
        lambda: storage.transcripts.end(SESSION, archived("s1", "a"), NOW, receipt()),
    ]


def tenant_changes(storage: Storage) -> list[Step]:
    """Each changes the tenant's policies, prefixes or usage; there is a trace x1."""
    one, two = policy(text="1"), policy(text="2")
    return [
        lambda: storage.policies.register(one, receipt()),
        lambda: storage.policies.register(two, receipt()),
        lambda: storage.policies.activate("acme", "support", one.digest, None, "", NOW, receipt()),
        lambda: storage.policies.activate("acme", "support", two.digest, None, "", NOW, receipt()),
        lambda: storage.policies.roll_back("acme", "support", "", NOW, receipt()),
        lambda: storage.prefixes.register(prefix(), receipt()),
        lambda: storage.usage.report(usage("x1"), receipt()),
    ]


class EpochSuite:
    """The truth about who is behind."""

    async def test_reports_of_usage_are_told_each_at_first_and_then_in_steps(self, storage: Storage) -> None:
        told = []
        for number in range(1, 35):
            await storage.traces.append(trace(f"x{number}"))
            step = partial(storage.usage.report, usage(f"x{number}"), receipt())
            told.append((await grown(storage, step)).tenant)
        assert told == [int(number <= 16 or number % 16 == 0) for number in range(1, 35)]

    async def test_an_unknown_user_has_zeros_and_stays_unknown(self, storage: Storage) -> None:
        """P13."""
        assert await storage.epochs.read(UserRef("nobody", "nobody")) == Epochs(0, 0, 0)
        assert await storage.epochs.read(USER) == Epochs(0, 0, 0)
        assert storage.users.peek(USER) is None

    async def test_each_change_of_facts_grows_their_epoch_by_one(self, storage: Storage) -> None:
        for step in fact_changes(storage):
            assert await grown(storage, step) == Epochs(1, 0, 0)

    async def test_each_change_of_the_archive_grows_its_epoch_by_one(self, storage: Storage) -> None:
        for step in archive_changes(storage):
            assert await grown(storage, step) == Epochs(0, 1, 0)

    async def test_each_change_of_a_tenants_things_grows_its_epoch_by_one(self, storage: Storage) -> None:
        await storage.traces.append(trace("x1"))
        for step in tenant_changes(storage):
            assert await grown(storage, step) == Epochs(0, 0, 1)

    async def test_snapshots_carry_the_epoch_that_is_read(self, storage: Storage) -> None:
        for step in (*fact_changes(storage), *archive_changes(storage)):
            await step()
            facts, archive = await storage.facts.load(USER), await storage.archives.load(USER)
            read = await storage.epochs.read(USER)
            assert (facts.epoch, archive.epoch) == (read.facts, read.archive)

    async def test_what_changes_nothing_grows_nothing(self, storage: Storage) -> None:
        await storage.traces.append(trace("x1"))
        for step in (*fact_changes(storage), *archive_changes(storage), *tenant_changes(storage)):
            await step()
        again: list[Step] = [
            lambda: storage.facts.record(USER, [], NOW, receipt()),
            lambda: storage.facts.invalidate(USER, FactSelector(), "", NOW, receipt()),
            lambda: storage.facts.delete(USER, 2, "", NOW, receipt()),
            lambda: storage.archives.append(USER, [archived("s", "a", "b")], NOW, receipt()),
            lambda: storage.transcripts.end(SESSION, None, NOW, receipt()),
            lambda: storage.transcripts.record(SESSION, [turn("t")], NOW, None, receipt()),
            lambda: storage.traces.append(trace("x2")),
            lambda: storage.users.pseudonym(USER),
            lambda: storage.policies.register(policy(text="1"), receipt()),
            lambda: storage.prefixes.register(prefix(), receipt()),
            lambda: storage.usage.report(usage("x1"), receipt()),
        ]
        for step in again:
            assert await grown(storage, step) == Epochs(0, 0, 0)

    async def test_what_is_refused_or_repeated_grows_nothing(self, storage: Storage) -> None:
        async def repeat() -> None:
            with refused(Repeated):
                await storage.facts.record(USER, [fact("new")], NOW, receipt("r"))

        async def fail() -> None:
            with refused(NotFound):
                await storage.policies.activate("acme", "none", "00", None, "", NOW, receipt())

        await storage.facts.record(USER, [fact()], NOW, receipt("r"))
        assert await grown(storage, repeat) == Epochs(0, 0, 0)
        assert await grown(storage, fail) == Epochs(0, 0, 0)

    async def test_other_users_and_tenants_have_epochs_of_their_own(self, storage: Storage) -> None:
        await storage.traces.append(trace("x1"))
        for step in (*fact_changes(storage), *archive_changes(storage)):
            assert await grown(storage, step, OTHER) == Epochs(0, 0, 0)
        for step in tenant_changes(storage):
            assert await grown(storage, step, FOREIGN) == Epochs(0, 0, 0)
        # Of one tenant's users all see its epoch.
        assert (await storage.epochs.read(OTHER)).tenant == (await storage.epochs.read(USER)).tenant > 0

    async def test_a_turn_makes_no_user(self, storage: Storage) -> None:
        session = SessionRef("acme", "guest", "s")
        await storage.transcripts.record(session, [turn("t")], NOW, None, receipt())
        assert await storage.epochs.read(session.user) == Epochs(0, 0, 0)
