"""Excerpts of past sessions: kept once, in the order of time, ranked from equal arrays on every backend."""

from dataclasses import replace

from assemblers.ranking import RankParams, query_terms, rank
from storage.conformance.samples import NOW, USER, archived, later, receipt, refused
from storage.errors import Erased
from storage.ledger import excerpt_content
from storage.ports import Storage


class ArchiveSuite:
    """Appending, order, duplicates and look-ups."""

    async def test_an_unknown_user_has_an_empty_archive(self, storage: Storage) -> None:
        snapshot = await storage.archives.load(USER)
        assert (snapshot.epoch, snapshot.excerpts, len(snapshot.archive)) == (0, (), 0)

    async def test_an_excerpt_is_read_back_as_it_was_given(self, storage: Storage) -> None:
        session = archived("s1", "Line one\r\n\tline two\x00 👩‍👩‍👧 é")
        written = await storage.archives.append(USER, [session], NOW, receipt())
        assert (written.added, written.duplicates, written.first_no, written.end_no) == (1, 0, 1, 2)
        (stored,) = (await storage.archives.load(USER)).excerpts
        (draft,) = session.excerpts
        assert excerpt_content(stored.session_id, stored.session_time, stored) == excerpt_content(
            "s1", NOW, draft
        )
        assert (stored.text, stored.terms, len(stored.commitment)) == (draft.text, draft.terms, 32)

    async def test_excerpts_lie_in_the_order_of_time_whatever_the_order_of_import(
        self, storage: Storage
    ) -> None:
        await storage.archives.append(USER, [archived("new", "c", "d", when=later(days=-1))], NOW, receipt())
        await storage.archives.append(USER, [archived("old", "a", "b", when=later(days=-9))], NOW, receipt())
        await storage.archives.append(USER, [archived("mid", "x", when=later(days=-5))], NOW, receipt())
        snapshot = await storage.archives.load(USER)
        assert [item.text for item in snapshot.excerpts] == ["a", "b", "x", "c", "d"]
        assert [item.no for item in snapshot.excerpts] == snapshot.archive.numbers.tolist() == [3, 4, 5, 1, 2]
        assert snapshot.archive.sessions.tolist() == [0, 0, 1, 2, 2]

    async def test_sessions_of_one_instant_stay_apart(self, storage: Storage) -> None:
        await storage.archives.append(USER, [archived("b", "x", "y"), archived("a", "z")], NOW, receipt())
        assert (await storage.archives.load(USER)).archive.sessions.tolist() == [0, 0, 1]

    async def test_the_same_excerpt_is_kept_once_however_often_it_comes(self, storage: Storage) -> None:
        await storage.archives.append(USER, [archived("s", "a", "b")], NOW, receipt())
        epoch = (await storage.archives.load(USER)).epoch
        for _ in range(10):
            again = await storage.archives.append(USER, [archived("s", "a", "b")], NOW, receipt())
            assert (again.added, again.duplicates, again.first_no, again.end_no) == (0, 2, 3, 3)
        snapshot = await storage.archives.load(USER)
        assert (len(snapshot.excerpts), snapshot.epoch) == (2, epoch)

    async def test_an_excerpt_twice_in_one_import_is_kept_once(self, storage: Storage) -> None:
        session = archived("s", "a")
        doubled = replace(session, excerpts=session.excerpts * 2)
        written = await storage.archives.append(USER, [doubled], NOW, receipt())
        assert (written.added, written.duplicates) == (1, 1)

    async def test_a_session_can_grow_and_keeps_its_first_date(self, storage: Storage) -> None:
        await storage.archives.append(USER, [archived("s", "a", when=later(days=-2))], NOW, receipt())
        await storage.archives.append(
            USER, [archived("s", "a", "b", "c", when=later(days=-1))], NOW, receipt()
        )
        excerpts = (await storage.archives.load(USER)).excerpts
        assert [item.text for item in excerpts] == ["a", "b", "c"]
        assert {(item.session_no, item.session_time) for item in excerpts} == {(1, later(days=-2))}

    async def test_appending_is_seen_by_the_next_load(self, storage: Storage) -> None:
        first = await storage.archives.load(USER)
        await storage.archives.append(USER, [archived("s", "a")], NOW, receipt())
        second = await storage.archives.load(USER)
        assert second.epoch > first.epoch
        assert storage.archives.peek(USER) == second

    async def test_excerpts_come_by_number_in_the_order_asked_for(self, storage: Storage) -> None:
        await storage.archives.append(USER, [archived("s", *"abcdefg")], NOW, receipt())
        for _ in range(2):  # from the store, and from memory
            found = await storage.archives.excerpts(USER, (5, 1, 5, 3))
            assert [item.text for item in found] == ["e", "a", "e", "c"]
            await storage.archives.load(USER)

    async def test_a_missing_excerpt_is_erased(self, storage: Storage) -> None:
        await storage.archives.append(USER, [archived("s", "a")], NOW, receipt())
        for numbers in ((1, 2), (0,), (-1,), (2**70,)):
            with refused(Erased):
                await storage.archives.excerpts(USER, numbers)
        assert await storage.archives.excerpts(USER, ()) == ()

    async def test_a_stored_archive_ranks_a_question(self, storage: Storage) -> None:
        texts = ("the invoice was paid", "we talked about cats", "invoice number seven is late")
        await storage.archives.append(USER, [archived("s", *texts)], NOW, receipt())
        snapshot = await storage.archives.load(USER)
        ranking = rank(snapshot.archive, query_terms("is the invoice late?"), RankParams())
        assert snapshot.excerpts[int(ranking.units[0])].text == texts[2]

    async def test_a_large_import_is_whole(self, storage: Storage) -> None:
        texts = [f"turn {index} about topic {index % 7}" for index in range(1_000)]
        written = await storage.archives.append(USER, [archived("s", *texts)], NOW, receipt())
        assert (written.added, written.end_no) == (1_000, 1_001)
        assert [item.text for item in (await storage.archives.load(USER)).excerpts] == texts
