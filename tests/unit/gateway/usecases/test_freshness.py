"""What the stores have in memory is compared with what was confirmed, per user and per tenant."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from assemblers.policy.model import Policy, PolicyRevision
from gateway.errors import FailedPrecondition, Reason
from gateway.usecases.following import FollowedPolicies, FollowedPrefixes, Follower
from gateway.usecases.freshness import Freshness
from storage.conformance.samples import NOW, USER, archived, fact, prefix, receipt
from storage.errors import StorageUnavailable
from storage.ports import Epochs
from storage.ports.confirmations import Confirmation, EpochSource
from storage.sqlite import open_sqlite
from tests.faulty import FaultyStorage

MIRRORING = ("policies", "prefixes", "usage")


class Confirmer:
    """Says what a test tells it to."""

    def __init__(self) -> None:
        self.answer: Confirmation | None = None
        self.asked: list[tuple[str, str]] = []

    def say(self, source: EpochSource, *epochs: int) -> None:
        self.answer = Confirmation(Epochs(*epochs), source, 0.0)

    async def confirm(self, user, at_least=None, within=None, keep_unknown=False) -> Confirmation | None:
        self.asked.append((user.tenant_id, user.user_id))
        return self.answer

    def known(self, user) -> Confirmation | None:
        return self.answer


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[FaultyStorage]:
    async with await open_sqlite(tmp_path) as opened:
        await opened.facts.record(USER, [fact()], NOW, receipt())
        await opened.archives.append(USER, [archived("old", "one")], NOW, receipt())
        yield FaultyStorage(opened)


@pytest.fixture
def confirmer() -> Confirmer:
    return Confirmer()


@pytest.fixture
def fresh(storage: FaultyStorage, confirmer: Confirmer) -> Freshness:
    return Freshness(storage.port, confirmer)


@pytest.mark.parametrize(
    ("source", "certain"),
    [
        (EpochSource.SQL, True),
        (EpochSource.SHARED, True),
        (EpochSource.MEMORY, True),
        (EpochSource.SHARED_ALONE, False),
    ],
)
async def test_a_call_that_cannot_say_stale_wants_to_be_certain(
    fresh: Freshness, confirmer: Confirmer, source: EpochSource, certain: bool
):
    confirmer.say(source, 1, 1, 0)
    if certain:
        assert len((await fresh.certain_facts(USER)).facts) == 1
        assert len((await fresh.certain_archive(USER)).excerpts) == 1
        return
    for ask in (fresh.certain_facts, fresh.certain_archive):
        with pytest.raises(StorageUnavailable):
            await ask(USER)


async def test_nobody_can_say(fresh: Freshness):
    with pytest.raises(StorageUnavailable):
        await fresh.certain(USER)
    assert (await fresh.standing(USER)).is_denied


async def test_sql_behind_what_the_caller_saw_is_refused_and_others_behind_it_are_not_enough(
    fresh: Freshness, confirmer: Confirmer
):
    confirmer.say(EpochSource.SQL, 1, 1, 0)
    with pytest.raises(FailedPrecondition) as refused:
        await fresh.standing(USER, Epochs(2, 0, 0))
    assert refused.value.reason is Reason.CONSISTENCY_UNKNOWN
    confirmer.say(EpochSource.SHARED, 1, 1, 0)
    standing = await fresh.standing(USER, Epochs(2, 0, 3))
    assert standing.required == Epochs(2, 1, 3)
    with pytest.raises(StorageUnavailable):
        await fresh.certain(USER, Epochs(2, 0, 0))


@pytest.fixture
def forgotten(storage: FaultyStorage, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Which stores are told to forget what they mirror, and of which tenant."""
    told: list[tuple[str, str]] = []
    for name in MIRRORING:
        monkeypatch.setattr(
            getattr(storage.port, name),
            "forget_tenant",
            lambda tenant, name=name: told.append((name, tenant)),
        )
    return told


async def test_what_is_mirrored_of_a_tenant_is_forgotten_after_a_change_elsewhere(
    fresh: Freshness, confirmer: Confirmer, forgotten: list[tuple[str, str]]
):
    follower = Follower(fresh)
    for epoch in (1, 1, 2, 2):
        confirmer.say(EpochSource.SHARED, 0, 0, epoch)
        await follower.follow("acme")
    assert confirmer.asked == [("acme", "")] * 4
    assert forgotten == [(name, "acme") for name in MIRRORING] * 2


async def test_an_older_confirmation_that_arrives_late_forgets_nothing(
    fresh: Freshness, confirmer: Confirmer, forgotten: list[tuple[str, str]]
):
    confirmer.say(EpochSource.SHARED, 0, 0, 5)
    await fresh.standing(USER)
    forgotten.clear()
    confirmer.say(EpochSource.SHARED, 0, 0, 4)
    await fresh.standing(USER)
    assert forgotten == []


async def test_operators_and_writes_follow_the_tenant_before_they_look(
    fresh: Freshness, confirmer: Confirmer, storage: FaultyStorage
):
    follower = Follower(fresh)
    prefixes = FollowedPrefixes(storage.port.prefixes, follower)
    stored = await prefixes.register(prefix(), receipt())
    assert await prefixes.find("acme", "main", "") == stored
    assert confirmer.asked == [("acme", "")]
    # A digest says it all: what it names never changes.
    assert await prefixes.find("acme", "main", stored.digest) == stored
    assert len(confirmer.asked) == 1

    class Catalog:
        async def resolve(self, tenant_id: str, policy: str) -> PolicyRevision:
            return PolicyRevision(tenant_id, "d", Policy(policy, ()))

    revision = await FollowedPolicies(Catalog(), follower).resolve("acme", "p")
    assert (revision.tenant_id, revision.policy.policy_id) == ("acme", "p")
    assert len(confirmer.asked) == 2
