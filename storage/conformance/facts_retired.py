"""Facts that are taken back: invalidated ones stay readable for audit, of deleted ones only the proof stays."""

import random
from collections.abc import Sequence

from assemblers.records import Fact, FactState, Subject
from storage.conformance.samples import ALL, NOW, USER, about, fact, later, receipt, refused
from storage.errors import EtagMismatch, NotFound
from storage.etags import fact_etag
from storage.ports import FactSelector, Storage


def shown(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """What a snapshot of these facts, all about the user, must hold."""
    latest: dict[str, Fact] = {}
    for item in sorted(facts, key=lambda item: (item.read_time, item.revision)):
        if item.state in (FactState.SUPERSEDED, FactState.INVALIDATED):
            latest[item.key] = item
    current = [item for item in facts if item.state is FactState.CURRENT]
    return tuple(sorted((*current, *latest.values()), key=lambda item: (item.key, item.no)))


class RetiredFactSuite:
    """Invalidation and deletion."""

    async def test_invalidated_facts_leave_the_current_ones_and_stay_for_audit(
        self, storage: Storage
    ) -> None:
        """P47."""
        await storage.facts.record(USER, [fact("a"), fact("b")], NOW, receipt())
        (gone,) = await storage.facts.invalidate(
            USER, FactSelector(key="a"), "plan changed", later(hours=1), receipt()
        )
        assert (gone.state, gone.invalidated_time, gone.invalidation_reason) == (
            FactState.INVALIDATED,
            later(hours=1),
            "plan changed",
        )
        assert await storage.facts.get(USER, 1) == gone
        assert [item.no for item in (await storage.facts.list(USER, FactSelector(), ALL)).items] == [2]
        audit = await storage.facts.list(USER, FactSelector(include_retired=True), ALL)
        assert [item.no for item in audit.items] == [1, 2]

    async def test_a_snapshot_holds_the_latest_retired_fact_of_each_key(self, storage: Storage) -> None:
        drafts = [fact("a", index, later(minutes=index)) for index in range(3)]
        await storage.facts.record(USER, drafts, NOW, receipt())
        await storage.facts.invalidate(USER, FactSelector(key="a"), "", later(hours=1), receipt())
        assert [(item.no, item.state) for item in (await storage.facts.load(USER)).facts] == [
            (3, FactState.INVALIDATED)
        ]

    async def test_snapshots_show_the_latest_retired_fact_whatever_the_order_of_events(
        self, storage: Storage
    ) -> None:
        """The rule of the port, worked out anew after each of many steps from all facts there are."""
        chance = random.Random(5)  # noqa: S311 - chooses steps, not secrets
        facts: tuple[Fact, ...] = ()
        for step in range(150):
            key, now = f"k{chance.randrange(3)}", later(minutes=step)
            kind = chance.choice(("record", "record", "record", "late", "invalidate", "delete"))
            if kind == "invalidate":
                await storage.facts.invalidate(USER, FactSelector(key=key), "", now, receipt())
            elif kind == "delete" and facts:
                await storage.facts.delete(USER, chance.choice(facts).no, "", now, receipt())
            else:
                read = later(hours=-chance.randrange(100)) if kind == "late" else now
                await storage.facts.record(USER, [fact(key, step, read)], now, receipt())
            facts = (await storage.facts.list(USER, FactSelector(include_retired=True), ALL)).items
            assert (await storage.facts.load(USER)).facts == shown(facts), step

    async def test_bulk_invalidation_takes_exactly_what_a_writer_wrote(self, storage: Storage) -> None:
        good = [fact(f"good{index}") for index in range(3)]
        bad = [about(Subject(), f"bad{index}", "x", writer="poisoner") for index in range(50)]
        await storage.facts.record(USER, [*good, *bad], NOW, receipt())
        gone = await storage.facts.invalidate(
            USER, FactSelector(writer="poisoner"), "poisoned", NOW, receipt()
        )
        assert [item.no for item in gone] == list(range(4, 54))
        assert [item.no for item in (await storage.facts.list(USER, FactSelector(), ALL)).items] == [1, 2, 3]

    async def test_hundreds_invalidated_at_once_leave_the_latest_retired_of_each_key_shown(
        self, storage: Storage
    ) -> None:
        """More than a statement takes; of some keys an older fact was invalidated that had been read later."""
        later_read = [fact(f"k{index:03}", "later read", later(hours=1)) for index in range(0, 600, 7)]
        await storage.facts.record(USER, later_read, NOW, receipt())
        await storage.facts.invalidate(USER, FactSelector(), "", NOW, receipt())
        await storage.facts.record(USER, [fact(f"k{index:03}") for index in range(600)], NOW, receipt())
        gone = await storage.facts.invalidate(USER, FactSelector(), "", NOW, receipt())
        facts = (await storage.facts.list(USER, FactSelector(include_retired=True), ALL)).items
        assert (len(gone), {item.state for item in facts}) == (600, {FactState.INVALIDATED})
        assert (await storage.facts.load(USER)).facts == shown(facts)

    async def test_invalidating_nothing_changes_nothing(self, storage: Storage) -> None:
        await storage.facts.record(USER, [fact()], NOW, receipt())
        before = await storage.facts.load(USER)
        assert await storage.facts.invalidate(USER, FactSelector(key="other"), "", NOW, receipt()) == ()
        assert await storage.facts.load(USER) == before

    async def test_a_key_can_be_written_again_after_it_was_invalidated(self, storage: Storage) -> None:
        await storage.facts.record(USER, [fact("a", "old")], NOW, receipt())
        await storage.facts.invalidate(USER, FactSelector(key="a"), "", NOW, receipt())
        (written,) = await storage.facts.record(USER, [fact("a", "new", later(hours=1))], NOW, receipt())
        assert (written.fact.state, written.superseded) == (FactState.CURRENT, ())

    async def test_deleting_keeps_the_proof_and_removes_the_content(self, storage: Storage) -> None:
        (written,) = await storage.facts.record(USER, [fact("a", "secret")], NOW, receipt())
        gone = await storage.facts.delete(USER, 1, "", later(hours=1), receipt())
        assert gone == await storage.facts.get(USER, 1)
        assert (gone.state, gone.value, gone.source, gone.source_turn) == (FactState.DELETED, "", "", "")
        kept = ("no", "key", "subject", "read_time", "write_time", "expire_time", "revision", "commitment")
        assert [getattr(gone, name) for name in kept] == [getattr(written.fact, name) for name in kept]

    async def test_a_deleted_fact_is_in_no_snapshot_and_its_number_is_never_given_again(
        self, storage: Storage
    ) -> None:
        await storage.facts.record(USER, [fact("a")], NOW, receipt())
        await storage.facts.delete(USER, 1, "", NOW, receipt())
        assert (await storage.facts.load(USER)).facts == ()
        (again,) = await storage.facts.record(USER, [fact("a")], NOW, receipt())
        assert (again.fact.no, again.duplicate) == (2, False)

    async def test_deleting_twice_gives_the_same_and_changes_nothing(self, storage: Storage) -> None:
        await storage.facts.record(USER, [fact()], NOW, receipt())
        first = await storage.facts.delete(USER, 1, "", NOW, receipt())
        epoch = (await storage.facts.load(USER)).epoch
        assert await storage.facts.delete(USER, 1, "", later(hours=1), receipt()) == first
        assert (await storage.facts.load(USER)).epoch == epoch

    async def test_an_old_etag_is_refused_with_the_current_one(self, storage: Storage) -> None:
        (written,) = await storage.facts.record(USER, [fact("a", "old")], NOW, receipt())
        old = fact_etag(written.fact)
        await storage.facts.record(USER, [fact("a", "new", later(hours=1))], NOW, receipt())
        current = fact_etag(await storage.facts.get(USER, 1))
        with refused(EtagMismatch) as caught:
            await storage.facts.delete(USER, 1, old, NOW, receipt())
        assert caught.error.current == current != old
        assert (await storage.facts.delete(USER, 1, current, NOW, receipt())).state is FactState.DELETED

    async def test_deleting_an_unknown_fact_is_not_found(self, storage: Storage) -> None:
        for number in (1, 0, -1, 2**63):
            with refused(NotFound):
                await storage.facts.delete(USER, number, "", NOW, receipt())
