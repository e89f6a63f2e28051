"""Pseudonyms and reported usage."""

from storage.conformance.samples import FOREIGN, OTHER, USER, receipt, refused, trace, usage
from storage.errors import AlreadyExists, NotFound
from storage.ports import Storage


class UsageSuite:
    """One pseudonym a user, one report a trace, the latest thousand observations a key."""

    async def test_a_pseudonym_is_random_and_stays(self, storage: Storage) -> None:
        assert storage.users.peek(USER) is None
        pseudonym = await storage.users.pseudonym(USER)
        assert len(bytes.fromhex(pseudonym)) == 16
        assert await storage.users.pseudonym(USER) == storage.users.peek(USER) == pseudonym
        assert (
            len({pseudonym, await storage.users.pseudonym(OTHER), await storage.users.pseudonym(FOREIGN)})
            == 3
        )

    async def test_a_report_needs_its_trace(self, storage: Storage) -> None:
        await storage.traces.append(trace("x1"))
        with refused(NotFound):
            await storage.usage.report(usage("x2"), receipt())
        with refused(NotFound):
            await storage.usage.report(usage("x1", tenant_id="umbrella"), receipt())

    async def test_a_report_counts_once(self, storage: Storage) -> None:
        await storage.traces.append(trace("x1"))
        assert await storage.usage.observations("acme", "anthropic") == ()
        assert await storage.usage.report(usage("x1"), receipt()) == usage("x1")
        await storage.usage.report(usage("x1"), receipt())
        assert await storage.usage.observations("acme", "anthropic") == ((100, 110),)
        with refused(AlreadyExists):
            await storage.usage.report(usage("x1", billed=111), receipt())

    async def test_observations_belong_to_a_tenant_and_a_key(self, storage: Storage) -> None:
        await storage.traces.append(trace("x1"))
        await storage.usage.report(usage("x1"), receipt())
        assert await storage.usage.observations("umbrella", "anthropic") == ()
        assert await storage.usage.observations("acme", "gemini") == ()

    async def test_the_latest_thousand_observations_are_kept_newest_last(self, storage: Storage) -> None:
        for index in range(1_005):
            await storage.traces.append(trace(f"x{index}"))
            await storage.usage.report(usage(f"x{index}", index, index + 1), receipt())
            if index == 0:
                assert await storage.usage.observations("acme", "anthropic") == ((0, 1),)
        expected = tuple((index, index + 1) for index in range(5, 1_005))
        assert await storage.usage.observations("acme", "anthropic") == expected
