"""Isolation: ids that look alike are different, and no tenant or user sees or touches another's things."""

from typing import Final, get_type_hints

import numpy as np

from assemblers.ranking.vectors import FIXED_POINT
from assemblers.records import UserRef
from storage.conformance import matrix
from storage.conformance.backend import Backend, opened
from storage.conformance.matrix import (
    ELSEWHERE,
    OF_ALL_USERS,
    OF_TENANT,
    OF_USER,
    PSEUDONYMS,
    SPACE,
    TENANTS,
    WRITES,
    mark_of,
    plant,
    plant_tenant,
    seen,
    session_of,
    tenant_mark,
    vector_of,
)
from storage.conformance.samples import NOW, fact, policy, receipt, refused
from storage.errors import NotFound
from storage.ports import FactSelector, PageRequest, Storage

CONFUSABLE: Final = (
    UserRef("a:b", "c"),
    UserRef("a", "b:c"),
    UserRef("a", "b"),
    UserRef("acme", "john-doe"),
    UserRef("acme", "john_doe"),
    UserRef("acme", "john%doe"),
    UserRef("acme", "%"),
    UserRef("acme", "_"),
    UserRef("acme", "*"),
    UserRef("acme", "Ann"),
    UserRef("acme", "ann"),
    UserRef("Acme", "ann"),
    UserRef("acme ", "ann"),
    UserRef("ac%", "ann"),
    UserRef("ac_e", "ann"),
    UserRef("umbrella", "ann"),
    UserRef("acme", "ann "),
    UserRef("acme", " ann"),
    UserRef("acme", "ann/"),
    UserRef("acme", "аnn"),  # the first letter is Cyrillic
    UserRef("acme", "ánn"),
    UserRef("acme", "a\u0301nn"),
    UserRef("acme", "1"),
    UserRef("acme", "01"),
    UserRef("acme", "1.0"),
    UserRef("acme", "' OR '1'='1"),
)
STRANGERS: Final = (
    UserRef("acme", "an_"),
    UserRef("acme", "an%"),
    UserRef("acme", "ANN"),
    UserRef("acm", "eann"),
    UserRef("acm_", "ann"),
    UserRef("ACME", "ann"),
)


def methods() -> set[str]:
    """What the ports can do, as `port.method`; `ready` and `close` are the handle's own."""
    return {
        f"{name}.{method}"
        for name, port in get_type_hints(Storage).items()
        for method, member in vars(port).items()
        if callable(member) and not method.startswith("_")
    }


async def plant_all(storage: Storage) -> None:
    """Give every tenant and every confusable user their things."""
    for tenant_id in TENANTS:
        await plant_tenant(storage, tenant_id)
    for user in CONFUSABLE:
        await plant(storage, user)


def expected(user: UserRef) -> dict[str, list[str]]:
    """What the reads of this user must show, and no more."""
    of_tenant = tenant_mark(user.tenant_id)
    of_users = [mark_of(other) for other in CONFUSABLE if other.tenant_id == user.tenant_id]
    return {
        **{name: [mark_of(user)] for name in OF_USER},
        **{name: [of_tenant] for name in OF_TENANT},
        **{name: sorted([of_tenant, *of_users]) for name in OF_ALL_USERS},
    }


class IsolationSuite:
    """The matrix of reads and confusable users (P1, P3, S19, S21, S23, S31)."""

    async def test_the_matrix_has_every_read_of_every_port(self) -> None:
        listed = [*WRITES, *ELSEWHERE, *PSEUDONYMS, *OF_USER, *OF_TENANT, *OF_ALL_USERS]
        assert sorted(listed) == sorted(methods())

    async def test_every_read_shows_the_own_mark_only(self, storage: Storage) -> None:
        await plant_all(storage)
        for user in CONFUSABLE:
            assert await seen(storage, user) == expected(user)

    async def test_every_user_has_a_pseudonym_of_its_own(self, storage: Storage) -> None:
        names = {user: await storage.users.pseudonym(user) for user in CONFUSABLE}
        assert len(set(names.values())) == len(CONFUSABLE)
        assert {user: storage.users.peek(user) for user in CONFUSABLE} == names

    async def test_every_user_has_vectors_of_its_own(self, storage: Storage) -> None:
        """P5."""
        storage.archives.carry(SPACE)
        for user in CONFUSABLE:
            await plant(storage, user)
        for user in CONFUSABLE:
            vectors = (await storage.archives.load(user)).vectors
            assert vectors is not None
            assert vectors.matrix.tolist() == [np.rint(vector_of(user) * FIXED_POINT).tolist()]

    async def test_reading_for_strangers_shows_nothing_and_makes_nobody_known(self, storage: Storage) -> None:
        """P13."""
        await plant(storage, UserRef("acme", "ann"))
        await plant_tenant(storage, "acme")
        for stranger in STRANGERS:
            found = await seen(storage, stranger)
            theirs = {name: marks for name, marks in found.items() if marks}
            of_tenant = set(theirs) - OF_TENANT.keys() - OF_ALL_USERS.keys()
            assert not (theirs if stranger.tenant_id != "acme" else of_tenant), stranger
            assert storage.users.peek(stranger) is None

    async def test_reading_leaves_no_row_behind(self, backend: Backend) -> None:
        """P13: for strangers nor for anybody else."""
        known = UserRef("acme", "ann")
        async with opened(backend) as storage:
            await plant(storage, known)
            await plant_tenant(storage, "acme")
        before = await backend.count_rows()
        async with opened(backend) as storage:
            for user in (known, *STRANGERS):
                await seen(storage, user)
                await storage.epochs.read(user)
            assert await storage.ready()
        assert await backend.count_rows() == before

    async def test_writing_for_one_user_touches_no_other(self, storage: Storage) -> None:
        """P7, S13."""
        await plant_all(storage)
        victim = UserRef("acme", "john_doe")
        others = [user for user in CONFUSABLE if user != victim]
        await storage.facts.delete(victim, 1, "", NOW, receipt())
        await storage.facts.invalidate(victim, FactSelector(), "", NOW, receipt())
        await storage.transcripts.end(session_of(victim), None, NOW, receipt())
        await storage.sessions.drop(session_of(victim))
        for user in others:
            assert await seen(storage, user) == expected(user)

    async def test_deleting_or_invalidating_a_strangers_fact_is_not_found(self, storage: Storage) -> None:
        await plant(storage, UserRef("acme", "ann"))
        for stranger in (UserRef("acme", "bob"), UserRef("umbrella", "ann"), *STRANGERS):
            with refused(NotFound):
                await storage.facts.delete(stranger, 1, "", NOW, receipt())
            gone = await storage.facts.invalidate(stranger, FactSelector(no=1), "", NOW, receipt())
            assert gone == ()
        assert await matrix.OF_USER["facts.list"](storage, UserRef("acme", "ann")) == [
            mark_of(UserRef("acme", "ann"))
        ]

    async def test_a_cursor_of_one_user_opens_nothing_of_another(self, storage: Storage) -> None:
        ann, bob = UserRef("acme", "ann"), UserRef("acme", "bob")
        await storage.facts.record(ann, [fact(f"a{index}", "ann's") for index in range(4)], NOW, receipt())
        await storage.facts.record(bob, [fact(f"b{index}", "bob's") for index in range(4)], NOW, receipt())
        cursor = (await storage.facts.list(ann, FactSelector(), PageRequest(1))).next_cursor
        page = await storage.facts.list(bob, FactSelector(), PageRequest(10, cursor))
        assert [item.value for item in page.items] == ["bob's"] * 3

    async def test_a_revision_of_another_tenant_cannot_be_activated(self, storage: Storage) -> None:
        theirs = policy(text="theirs", tenant_id="umbrella")
        await storage.policies.register(theirs, receipt())
        await storage.policies.register(policy(text="ours"), receipt())
        with refused(NotFound):
            await storage.policies.activate("acme", "support", theirs.digest, None, "", NOW, receipt())
        assert await storage.policies.revision("acme", "support", theirs.digest) is None
