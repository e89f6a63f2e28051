"""Policies and prefixes: immutable revisions, and heads that move with an etag."""

from storage.conformance.samples import ALL, NOW, later, policy, prefix, receipt, refused
from storage.errors import EtagMismatch, InvalidCursor, NotFound
from storage.ports import PageRequest, PolicyHead, Storage, StoredPolicy


async def register(storage: Storage, *texts: str, policy_id: str = "support") -> list[StoredPolicy]:
    """Register a revision for each text."""
    revisions = [policy(policy_id, text) for text in texts]
    for revision in revisions:
        await storage.policies.register(revision, receipt())
    return revisions


async def activate(
    storage: Storage, revision: StoredPolicy, as_default: bool | None = None, etag: str = ""
) -> PolicyHead:
    """Activate a revision."""
    return await storage.policies.activate(
        revision.tenant_id, revision.policy_id, revision.digest, as_default, etag, later(hours=1), receipt()
    )


class PolicySuite:
    """Registering, activating, rolling back, listing."""

    async def test_unknown_policies_are_not_found_and_nothing_is_active(self, storage: Storage) -> None:
        assert await storage.policies.active("acme", "") is None
        assert await storage.policies.active("acme", "support") is None
        assert await storage.policies.revision("acme", "support", "00") is None
        with refused(NotFound):
            await storage.policies.head("acme", "support")

    async def test_a_registered_revision_is_there_and_not_active(self, storage: Storage) -> None:
        assert await storage.policies.revision("acme", "support", policy().digest) is None
        (one,) = await register(storage, "{}")
        assert await storage.policies.revision("acme", "support", one.digest) == one
        assert await storage.policies.active("acme", "support") is None
        head = await storage.policies.head("acme", "support")
        assert (head.active, head.previous, head.is_default) == ("", "", False)

    async def test_an_equal_revision_is_given_as_it_was_first_stored(self, storage: Storage) -> None:
        await register(storage, "{}")
        again = await storage.policies.register(policy(when=later(days=1)), receipt())
        assert again == policy()
        assert len((await storage.policies.revisions("acme", "support", ALL)).items) == 1

    async def test_activation_moves_the_head_and_is_seen_at_once(self, storage: Storage) -> None:
        one, two = await register(storage, "1", "2")
        head = await activate(storage, one)
        assert (head.active, head.previous, head.is_default) == (one.digest, "", True)
        assert (
            await storage.policies.active("acme", "support")
            == await storage.policies.active("acme", "")
            == one
        )
        head = await activate(storage, two)
        assert (head.active, head.previous, head.is_default) == (two.digest, one.digest, True)
        assert (
            await storage.policies.active("acme", "support")
            == await storage.policies.active("acme", "")
            == two
        )
        assert await storage.policies.head("acme", "support") == head

    async def test_activating_the_active_revision_keeps_the_previous_one(self, storage: Storage) -> None:
        one, two = await register(storage, "1", "2")
        await activate(storage, one)
        await activate(storage, two)
        assert (await activate(storage, two)).previous == one.digest

    async def test_only_one_policy_is_the_default(self, storage: Storage) -> None:
        (one,) = await register(storage, "1", policy_id="one")
        (two,) = await register(storage, "2", policy_id="two")
        assert (await activate(storage, one)).is_default
        assert not (await activate(storage, two)).is_default
        assert await storage.policies.active("acme", "") == one
        before = (await storage.policies.head("acme", "one")).etag
        assert (await activate(storage, two, as_default=True)).is_default
        assert await storage.policies.active("acme", "") == two
        head = await storage.policies.head("acme", "one")
        assert not head.is_default
        assert head.etag != before

    async def test_the_default_can_be_given_up(self, storage: Storage) -> None:
        (one,) = await register(storage, "1")
        await activate(storage, one)
        assert not (await activate(storage, one, as_default=False)).is_default
        assert await storage.policies.active("acme", "") is None
        assert await storage.policies.active("acme", "support") == one

    async def test_rolling_back_exchanges_the_last_two(self, storage: Storage) -> None:
        one, two = await register(storage, "1", "2")
        await activate(storage, one)
        await activate(storage, two)
        for active, previous in ((one, two), (two, one)):
            head = await storage.policies.roll_back("acme", "support", "", NOW, receipt())
            assert (head.active, head.previous) == (active.digest, previous.digest)
            assert await storage.policies.active("acme", "support") == active

    async def test_rolling_back_to_nothing_is_not_found(self, storage: Storage) -> None:
        (one,) = await register(storage, "1")
        await activate(storage, one)
        with refused(NotFound):
            await storage.policies.roll_back("acme", "support", "", NOW, receipt())
        with refused(NotFound):
            await storage.policies.roll_back("acme", "other", "", NOW, receipt())

    async def test_activating_an_unknown_revision_is_not_found(self, storage: Storage) -> None:
        await register(storage, "1")
        with refused(NotFound):
            await activate(storage, policy(text="never registered"))
        with refused(NotFound):
            await activate(storage, policy("other"))

    async def test_an_old_etag_is_refused_with_the_current_one(self, storage: Storage) -> None:
        one, two = await register(storage, "1", "2")
        old = (await storage.policies.head("acme", "support")).etag
        current = (await activate(storage, one, etag=old)).etag
        with refused(EtagMismatch) as caught:
            await activate(storage, two, etag=old)
        assert caught.error.current == current
        with refused(EtagMismatch):
            await storage.policies.roll_back("acme", "support", old, NOW, receipt())

    async def test_revisions_are_listed_newest_first_in_pages(self, storage: Storage) -> None:
        registered = await register(storage, *"12345")
        first = await storage.policies.revisions("acme", "support", PageRequest(3))
        rest = await storage.policies.revisions("acme", "support", PageRequest(3, first.next_cursor))
        assert [*first.items, *rest.items] == registered[::-1]
        assert rest.next_cursor == ""

    async def test_heads_are_listed_by_id_in_pages(self, storage: Storage) -> None:
        for policy_id in ("b", "a:b", "B", "a", "ab"):
            await register(storage, "1", policy_id=policy_id)
        first = await storage.policies.heads("acme", PageRequest(2))
        rest = await storage.policies.heads("acme", PageRequest(9, first.next_cursor))
        assert [head.policy_id for head in (*first.items, *rest.items)] == ["B", "a", "a:b", "ab", "b"]
        with refused(InvalidCursor):
            await storage.policies.heads("acme", PageRequest(2, "!"))

    async def test_prefixes_are_read_back_newest_first_and_the_newest_is_the_default(
        self, storage: Storage
    ) -> None:
        assert await storage.prefixes.find("acme", "main", "") is None
        one, two = prefix(text="One\r\n"), prefix(text="Two")
        await storage.prefixes.register(one, receipt())
        assert await storage.prefixes.find("acme", "main", "") == one
        await storage.prefixes.register(two, receipt())
        assert await storage.prefixes.find("acme", "main", "") == two
        assert await storage.prefixes.find("acme", "main", one.digest) == one
        assert (await storage.prefixes.revisions("acme", "main", ALL)).items == (two, one)
        assert await storage.prefixes.register(one, receipt()) == one
        assert await storage.prefixes.find("acme", "main", "") == two
