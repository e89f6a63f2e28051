"""Facts: what is recorded is read back, newer supersedes older, and nothing else is touched."""

from dataclasses import replace
from datetime import timedelta

from assemblers.records import FactState, FactValue, Subject
from storage.conformance.samples import ALL, NOW, USER, about, fact, later, receipt, refused
from storage.errors import InvalidCursor, LimitExceeded, NotFound
from storage.ledger import fact_content
from storage.ports import FactSelector, PageRequest, Storage


class FactSuite:
    """Recording, reading, supersession, limits and pages."""

    async def test_an_unknown_user_has_an_empty_snapshot_and_no_facts(self, storage: Storage) -> None:
        snapshot = await storage.facts.load(USER)
        assert (snapshot.epoch, snapshot.facts) == (0, ())
        assert (await storage.facts.list(USER, FactSelector(), ALL)).items == ()
        with refused(NotFound):
            await storage.facts.get(USER, 1)

    async def test_a_fact_is_read_back_as_it_was_given(self, storage: Storage) -> None:
        draft = about(Subject("customer", "c-7"), "terms", "net 30", later(days=-3))
        (written,) = await storage.facts.record(USER, [draft], NOW, receipt())
        stored = await storage.facts.get(USER, 1)
        assert stored == written.fact
        assert fact_content(stored) == fact_content(draft)
        assert (stored.no, stored.user, stored.write_time, stored.state) == (1, USER, NOW, FactState.CURRENT)
        assert len(stored.commitment) == 32

    async def test_values_keep_their_type_exactly(self, storage: Storage) -> None:
        values: list[FactValue] = [
            "",
            "né\r\n\x00\u2028👩‍👩‍👧",
            0,
            -(10**15),
            2**60,
            True,
            False,
            0.1,
            1.0,
            -1e300,
            later(days=-9, microseconds=1),
        ]
        drafts = [fact(f"key{index}", value) for index, value in enumerate(values)]
        await storage.facts.record(USER, drafts, NOW, receipt())
        for number, value in enumerate(values, start=1):
            stored = (await storage.facts.get(USER, number)).value
            assert (type(stored), stored) == (type(value), value)

    async def test_equal_content_has_different_commitments(self, storage: Storage) -> None:
        drafts = [fact("a", "same"), fact("a", "same", later(seconds=1))]
        written = await storage.facts.record(USER, drafts, NOW, receipt())
        assert written[0].fact.commitment != written[1].fact.commitment

    async def test_a_newer_fact_supersedes_the_older_of_its_key(self, storage: Storage) -> None:
        """P43: of an old and a new value only the new one is current."""
        await storage.facts.record(USER, [fact("currency", "EUR")], NOW, receipt())
        (written,) = await storage.facts.record(
            USER, [fact("currency", "USD", later(hours=1))], NOW, receipt()
        )
        assert [(old.no, old.state, old.superseded_by) for old in written.superseded] == [
            (1, FactState.SUPERSEDED, 2)
        ]
        assert await storage.facts.get(USER, 1) == written.superseded[0]
        current = (await storage.facts.list(USER, FactSelector(), ALL)).items
        assert [item.value for item in current] == ["USD"]

    async def test_superseding_a_key_leaves_all_others_as_they_were(self, storage: Storage) -> None:
        """P45: a write to one key changes nothing of the others, nor of the same key of another subject."""
        others = [fact(chr(ord("b") + index), index) for index in range(25)]
        others.append(about(Subject("customer", "c-1"), "a", "theirs"))
        others.append(about(Subject("customer", "c-2"), "a", "others'"))
        await storage.facts.record(USER, [fact("a", "old"), *others], NOW, receipt())
        before = (await storage.facts.load(USER)).facts
        await storage.facts.record(USER, [fact("a", "new", later(hours=1))], later(hours=1), receipt())
        after = {item.no: item for item in (await storage.facts.load(USER)).facts}
        assert [after[item.no] for item in before if item.no != 1] == [
            item for item in before if item.no != 1
        ]

    async def test_a_late_older_draft_is_superseded_at_once(self, storage: Storage) -> None:
        await storage.facts.record(USER, [fact("currency", "USD")], NOW, receipt())
        (written,) = await storage.facts.record(
            USER, [fact("currency", "EUR", later(days=-1))], NOW, receipt()
        )
        assert (written.fact.state, written.fact.superseded_by, written.superseded) == (
            FactState.SUPERSEDED,
            1,
            (),
        )
        assert (await storage.facts.get(USER, 1)).state is FactState.CURRENT

    async def test_of_equal_read_times_the_later_write_counts(self, storage: Storage) -> None:
        drafts = [fact("currency", "EUR"), fact("currency", "USD")]
        written = await storage.facts.record(USER, drafts, NOW, receipt())
        assert written[1].fact.state is FactState.CURRENT
        assert (await storage.facts.get(USER, 1)).superseded_by == 2

    async def test_an_equal_draft_is_a_duplicate_and_stores_nothing(self, storage: Storage) -> None:
        """P57: the same text ten times is one fact, and changes no epoch."""
        (first,) = await storage.facts.record(USER, [fact()], NOW, receipt())
        epoch = (await storage.facts.load(USER)).epoch
        for _ in range(10):
            (again,) = await storage.facts.record(USER, [fact()], later(minutes=1), receipt())
            assert (again.fact, again.duplicate, again.superseded) == (first.fact, True, ())
        assert (await storage.facts.load(USER)).epoch == epoch
        assert len((await storage.facts.list(USER, FactSelector(include_retired=True), ALL)).items) == 1

    async def test_one_and_true_are_different_values(self, storage: Storage) -> None:
        await storage.facts.record(USER, [fact("n", 1)], NOW, receipt())
        (written,) = await storage.facts.record(USER, [fact("n", value=True)], NOW, receipt())
        assert not written.duplicate

    async def test_the_newest_of_three_hundred_corrections_is_current(self, storage: Storage) -> None:
        """P31: corrections are never dropped in favour of what they correct."""
        drafts = [fact("limit", index, later(minutes=index)) for index in range(300)]
        await storage.facts.record(USER, drafts, NOW, receipt())
        snapshot = (await storage.facts.load(USER)).facts
        assert [(item.value, item.state) for item in snapshot] == [
            (298, FactState.SUPERSEDED),
            (299, FactState.CURRENT),
        ]

    async def test_snapshots_are_sorted_by_key_subject_and_number(self, storage: Storage) -> None:
        subjects = [Subject("customer", "z"), Subject("account", "m"), Subject("customer", "a"), Subject()]
        drafts = [about(subject, key, "x") for key in ("b", "B", "a", "a.b", "ä") for subject in subjects]
        await storage.facts.record(USER, drafts, NOW, receipt())
        order = [
            (item.key, item.subject.kind, item.subject.id, item.no)
            for item in (await storage.facts.load(USER)).facts
        ]
        assert order == sorted(order)

    async def test_expired_facts_stay_in_the_snapshot_as_current(self, storage: Storage) -> None:
        await storage.facts.record(USER, [fact("old", "x", later(days=-100), days=1)], NOW, receipt())
        (only,) = (await storage.facts.load(USER)).facts
        assert (only.state, only.expire_time) == (FactState.CURRENT, later(days=-99))

    async def test_peek_knows_what_was_loaded_and_forgets_with_a_write(self, storage: Storage) -> None:
        loaded = await storage.facts.load(USER)
        assert storage.facts.peek(USER) == loaded
        await storage.facts.record(USER, [fact()], NOW, receipt())
        peeked = storage.facts.peek(USER)
        assert peeked is None or peeked.epoch > loaded.epoch
        assert (await storage.facts.load(USER)).epoch > loaded.epoch

    async def test_every_selector_narrows_the_list(self, storage: Storage) -> None:
        customer = Subject("customer", "c")
        drafts = [fact("a"), replace(fact("b"), source="crm"), about(customer, "a", "y", writer="importer")]
        await storage.facts.record(USER, drafts, NOW, receipt())
        await storage.facts.record(USER, [fact("c")], later(hours=1), receipt())
        expected = [
            (FactSelector(), [1, 2, 3, 4]),
            (FactSelector(no=2), [2]),
            (FactSelector(no=2**70), []),
            (FactSelector(subject=customer), [3]),
            (FactSelector(key="a"), [1, 3]),
            (FactSelector(source="crm"), [2]),
            (FactSelector(writer="importer"), [3]),
            (FactSelector(written_from=later(hours=1)), [4]),
            (FactSelector(written_until=later(hours=1)), [1, 2, 3]),
            (FactSelector(key="a", writer="agent"), [1]),
            (FactSelector(key=""), []),
        ]
        for selector, numbers in expected:
            found = (await storage.facts.list(USER, selector, ALL)).items
            assert [item.no for item in found] == numbers, selector

    async def test_pages_hold_every_fact_once(self, storage: Storage) -> None:
        await storage.facts.record(USER, [fact(f"k{index}") for index in range(7)], NOW, receipt())
        numbers, cursor, pages = [], "", 0
        while True:
            page = await storage.facts.list(USER, FactSelector(), PageRequest(3, cursor))
            numbers += [item.no for item in page.items]
            cursor, pages = page.next_cursor, pages + 1
            if not cursor:
                break
        assert (numbers, pages) == ([1, 2, 3, 4, 5, 6, 7], 3)

    async def test_an_invented_cursor_is_an_error(self, storage: Storage) -> None:
        for cursor in ("x", "n1", "ä", "%", "0' OR 1=1 --", "bjk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OQ"):
            with refused(InvalidCursor):
                await storage.facts.list(USER, FactSelector(), PageRequest(3, cursor))

    async def test_numbers_beyond_every_column_are_not_found(self, storage: Storage) -> None:
        for number in (0, -1, 2**63, -(2**70)):
            with refused(NotFound):
                await storage.facts.get(USER, number)

    async def test_one_fact_over_the_limit_is_refused_and_nothing_is_stored(self, storage: Storage) -> None:
        full = [fact(f"k{index}", index) for index in range(4_096)]
        await storage.facts.record(USER, full, NOW, receipt())
        with refused(LimitExceeded) as caught:
            await storage.facts.record(
                USER, [fact("k0", "other", later(hours=1)), fact("one more")], NOW, receipt()
            )
        assert caught.error.limit == 4_096
        assert (await storage.facts.get(USER, 1)).state is FactState.CURRENT
        await storage.facts.record(USER, [fact("k0", "other", later(hours=1))], NOW, receipt())

    async def test_expired_facts_make_room(self, storage: Storage) -> None:
        full = [fact(f"k{index}", index, days=1) for index in range(4_096)]
        await storage.facts.record(USER, full, NOW, receipt())
        after = NOW + timedelta(days=1)
        (written,) = await storage.facts.record(USER, [fact("one more", read=after)], after, receipt())
        assert written.fact.no == 4_097
