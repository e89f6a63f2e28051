"""The same question over the same archive gives the same ranking on every backend: each is held to the same numbers.

The expected orders are written down here, so that no backend is compared with itself.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assemblers.ranking import (
    Blend,
    Question,
    RankParams,
    VectorSpace,
    fixed_point,
    query_terms,
    rank,
    rank_hybrid,
)
from assemblers.records import UserRef
from storage.conformance.backend import Backend
from storage.conformance.samples import FOREIGN, NOW, OTHER, USER, archived, later, receipt
from storage.ports import ArchiveSnapshot, Storage

SPACE: Final = VectorSpace("toy@1", 8)
OTHER_SPACE: Final = VectorSpace("toy@2", 8)
NARROW: Final = VectorSpace("narrow@1", 4)

TALKS: Final = (
    (
        "invoices",
        40,
        (
            "The invoice INV-2031 was wrong by 20 euros.",
            "Please send it to our Berlin office.",
            "'; DROP TABLE excerpts; -- is how the subject line read.",
            "Thanks, bye!",
        ),
    ),
    (
        "请求书",
        30,
        (
            "請求書の金額が間違っています。",
            "It fails with NEAR(a b) AND NOT c* in the search box.",
            "naïve café, ﬁnally paid 1,000 €",
            "-secret",
        ),
    ),
    (
        "cats",
        20,
        (
            "We talked about cats and the invoice of the vet.",
            "👩‍👩‍👧 love the cats",
            "\u202eright to left\u202c and \x1b[31mred\x1b[0m",
            "100% of a_b and \\u0000",
        ),
    ),
    ("late", 10, ("Is the invoice paid?", "Not yet.", "الفاتورة مدفوعة")),
)

QUESTIONS: Final = (
    "Is the invoice paid?",
    "INV-2031",
    "請求書",
    "cats",
    "'; DROP TABLE excerpts; --",
    "NEAR(a b) AND NOT c*",
    "-secret",
    "FINALLY CAFÉ 1000",
    "الفاتورة",
    "who is it?",
    "",
    "\u202e",
    "a' | !b",
    "' OR 1=1 --",
)

# By question: the numbers of the excerpts, best first.
BY_KEYWORDS: Final = dict(
    zip(
        QUESTIONS,
        (
            (13, 14, 7, 15, 9, 1, 8, 6, 10, 5, 2, 11, 3, 12, 4),
            (1, 2, 3, 4),
            (5, 6, 7, 8),
            (10, 9, 11, 12),
            (3, 4, 2, 1),
            (6, 7, 5, 8, 12, 11, 10, 9),
            (8, 7, 6, 5),
            (7, 8, 6, 5),
            (15, 14, 13),
            (),
            (),
            (),
            (12, 6, 11, 7, 5, 10, 8, 9),
            (),
        ),
        strict=True,
    )
)
BY_BOTH: Final = dict(
    zip(
        QUESTIONS,
        (
            (15, 13, 14, 1, 9, 7, 10, 2, 6, 3, 8, 5, 4, 11, 12),
            (1, 5, 15, 2, 11, 3, 4),
            (5, 1, 11, 15, 6, 7, 8),
            (1, 9, 10, 11, 12, 13, 15, 8),
            (3, 2, 4, 1, 7, 8, 10, 6, 9, 11),
            (4, 3, 6, 2, 5, 7, 12, 8, 13, 10, 9, 11, 15),
            (4, 3, 8, 2, 7, 9, 13, 10, 5, 6, 12),
            (7, 5, 6, 8, 9),
            (15, 6, 7, 14, 8, 5, 13, 2, 3, 12),
            (7, 6, 8, 5, 14, 2, 12),
            (8, 7, 6, 9, 5, 10, 1, 2, 13, 14),
            (9, 10, 11, 8, 5, 4, 1, 2, 13),
            (10, 11, 12, 9, 6, 8, 14, 15, 7, 2, 4, 5),
            (11, 10, 9, 2),
        ),
        strict=True,
    )
)
WITH_GAPS: Final = dict(
    zip(
        QUESTIONS,
        (
            (14, 10, 15, 9, 13, 1, 2, 3, 12, 4, 11, 7, 6, 5, 8),
            (1, 2, 5, 3, 11, 4),
            (5, 6, 1, 11, 7, 8),
            (1, 9, 10, 11, 12, 13, 8),
            (3, 2, 4, 1, 10, 8, 7, 11),
            (4, 6, 2, 5, 7, 8, 13, 12, 9, 10, 11),
            (4, 8, 2, 7, 6, 13, 5, 10),
            (7, 5, 6, 8),
            (15, 7, 14, 8, 5, 13, 2),
            (7, 8, 5, 14, 2),
            (8, 7, 5, 2, 1, 14, 10, 13),
            (8, 5, 10, 4, 11, 1, 2, 13),
            (12, 10, 11, 9, 6, 8, 14, 7, 2, 4, 5),
            (11, 10, 2),
        ),
        strict=True,
    )
)
BY_THE_OTHER: Final = dict(
    zip(
        QUESTIONS,
        (
            (1, 2, 3, 15, 13, 4, 9, 11, 7, 10, 14, 8, 6, 5, 12),
            (1, 2, 3, 4, 6, 12),
            (1, 5, 2, 6, 7, 12, 8),
            (2, 1, 10, 9, 11, 12, 13, 14),
            (3, 4, 2, 1, 11, 8, 12, 9, 7, 10, 5),
            (6, 5, 7, 4, 8, 3, 13, 14, 12, 11, 9, 10),
            (5, 8, 4, 6, 7, 3, 14, 13, 10, 11),
            (7, 6, 8, 5, 1, 9, 10),
            (15, 8, 7, 14, 6, 13, 4, 3, 9),
            (8, 7, 6, 9, 15, 13, 3),
            (9, 10, 11, 8, 7, 6, 3, 15, 2, 14),
            (10, 9, 11, 12, 5, 2, 14, 3, 6),
            (12, 11, 10, 9, 6, 5, 15, 3, 7, 8),
            (12, 11, 10, 1, 3),
        ),
        strict=True,
    )
)


def direction(seed: int, dimension: int = SPACE.dimension) -> NDArray[np.float32]:
    """A vector of length 1, the same on every machine: whole numbers over a root."""
    parts = np.array([(seed * 7919 + place * 104_729 + seed * place) % 17 - 8 for place in range(dimension)])
    vector: NDArray[np.float32] = (parts / np.sqrt(float(parts @ parts))).astype(np.float32)
    return vector


def vectors(numbers: Iterable[int], shift: int = 0) -> dict[int, NDArray[np.float32]]:
    """Vectors of excerpts by number."""
    return {number: direction(number + shift) for number in numbers}


async def fill(storage: Storage, user: UserRef = USER) -> range:
    """Archive the talks; gives the numbers of their excerpts."""
    sessions = [archived(name, *texts, when=later(days=-days)) for name, days, texts in TALKS]
    written = await storage.archives.append(user, sessions, NOW, receipt())
    return range(written.first_no, written.end_no)


def by_keywords(snapshot: ArchiveSnapshot, question: str) -> tuple[int, ...]:
    """The numbers of the excerpts, best first."""
    ranking = rank(snapshot.archive, query_terms(question), RankParams())
    return tuple(snapshot.excerpts[unit].no for unit in ranking.units.tolist())


def by_both(snapshot: ArchiveSnapshot, question: str) -> tuple[int, ...]:
    """The numbers of the excerpts, best first, by the vector of the question's place in the list too."""
    assert snapshot.vectors is not None
    asked = Question(query_terms(question), fixed_point(direction(QUESTIONS.index(question) + 100)))
    ranking = rank_hybrid(snapshot.archive, snapshot.vectors, asked, RankParams(), Blend())
    return tuple(snapshot.excerpts[unit].no for unit in ranking.units.tolist())


class RetrievalSuite:
    """Rankings by keywords and by vectors, and the vectors behind them."""

    async def test_keywords_rank_as_they_must(self, storage: Storage) -> None:
        await fill(storage)
        snapshot = await storage.archives.load(USER)
        assert {question: by_keywords(snapshot, question) for question in QUESTIONS} == BY_KEYWORDS

    async def test_keywords_and_vectors_rank_as_they_must(self, storage: Storage) -> None:
        storage.archives.carry(SPACE)
        await storage.archives.add_vectors(USER, SPACE, vectors(await fill(storage)))
        snapshot = await storage.archives.load(USER)
        assert {question: by_both(snapshot, question) for question in QUESTIONS} == BY_BOTH
        assert {question: by_keywords(snapshot, question) for question in QUESTIONS} == BY_KEYWORDS

    async def test_excerpts_without_a_vector_rank_as_they_must(self, storage: Storage) -> None:
        storage.archives.carry(SPACE)
        numbers = [number for number in await fill(storage) if number % 3]
        await storage.archives.add_vectors(USER, SPACE, vectors(numbers))
        snapshot = await storage.archives.load(USER)
        assert snapshot.vectors is not None
        assert [snapshot.excerpts[i].no for i in snapshot.vectors.missing().tolist()] == [3, 6, 9, 12, 15]
        assert {question: by_both(snapshot, question) for question in QUESTIONS} == WITH_GAPS

    async def test_vectors_of_two_embedders_never_meet(self, storage: Storage) -> None:
        numbers = await fill(storage)
        await storage.archives.add_vectors(USER, SPACE, vectors(numbers))
        await storage.archives.add_vectors(USER, OTHER_SPACE, vectors(numbers, shift=50))
        for space, expected in ((SPACE, BY_BOTH), (OTHER_SPACE, BY_THE_OTHER), (SPACE, BY_BOTH)):
            storage.archives.carry(space)
            snapshot = await storage.archives.load(USER)
            assert snapshot.vectors is not None
            assert (snapshot.vectors.space, snapshot.vectors.count) == (space, len(numbers))
            assert {question: by_both(snapshot, question) for question in QUESTIONS} == expected

    async def test_another_embedder_begins_without_vectors(self, storage: Storage) -> None:
        await storage.archives.add_vectors(USER, SPACE, vectors(await fill(storage)))
        storage.archives.carry(NARROW)
        snapshot = await storage.archives.load(USER)
        assert snapshot.vectors is not None
        assert (snapshot.vectors.count, snapshot.vectors.matrix.shape) == (0, (15, 4))

    async def test_a_store_that_carries_no_space_has_no_vectors(self, storage: Storage) -> None:
        await storage.archives.add_vectors(USER, SPACE, vectors(await fill(storage)))
        assert (await storage.archives.load(USER)).vectors is None

    async def test_vectors_come_back_bit_for_bit(self, storage: Storage) -> None:
        # A step of the fixed point ends at a half: one bit less or more, and the vector is of another step.
        storage.archives.carry(SPACE)
        await fill(storage)
        half = np.float32(1000.5) / np.float32(4000)
        below, above = np.nextafter(half, np.float32(0)), np.nextafter(half, np.float32(1))
        given = {no: np.zeros(8, np.float32) for no in (1, 2, 3)}
        for no, edge in ((1, below), (2, half), (3, above)):
            given[no][no], given[no][0] = edge, np.float32(-0.9)
        await storage.archives.add_vectors(USER, SPACE, given)
        snapshot = await storage.archives.load(USER)
        assert snapshot.vectors is not None
        assert snapshot.vectors.matrix[:3].tolist() == [fixed_point(given[no]).tolist() for no in (1, 2, 3)]
        assert snapshot.vectors.matrix[[0, 2], [1, 3]].tolist() == [1000, 1001]

    async def test_new_vectors_advance_the_epoch_and_known_ones_do_not(self, storage: Storage) -> None:
        storage.archives.carry(SPACE)
        numbers = await fill(storage)
        before = await storage.archives.load(USER)
        assert await storage.archives.add_vectors(USER, SPACE, vectors(numbers[:4])) == 4
        after = await storage.archives.load(USER)
        assert after.epoch > before.epoch
        assert after.vectors is not None
        assert after.vectors.count == 4
        assert await storage.archives.add_vectors(USER, SPACE, vectors(numbers[:4], shift=9)) == 0
        again = await storage.archives.load(USER)
        assert again.epoch == after.epoch
        assert again.vectors is not None
        assert again.vectors.matrix.tolist() == after.vectors.matrix.tolist()

    async def test_vectors_without_an_excerpt_are_not_kept(self, storage: Storage) -> None:
        storage.archives.carry(SPACE)
        numbers = await fill(storage)
        unknown = vectors((0, -1, 16, 2**70))
        assert await storage.archives.add_vectors(USER, SPACE, unknown) == 0
        assert await storage.archives.add_vectors(USER, SPACE, unknown | vectors(numbers[:1])) == 1
        assert await storage.archives.add_vectors(OTHER, SPACE, vectors(numbers)) == 0
        assert await storage.archives.add_vectors(USER, SPACE, {}) == 0

    async def test_a_vector_of_another_dimension_is_refused(self, storage: Storage) -> None:
        numbers = await fill(storage)
        try:
            await storage.archives.add_vectors(USER, SPACE, {numbers[0]: direction(1, 4)})
        except ValueError as error:
            assert "8 components" in str(error)  # noqa: PT017  a suite knows no pytest
        else:
            raise AssertionError("no ValueError")

    async def test_vectors_belong_to_one_user_of_one_tenant(self, storage: Storage) -> None:
        storage.archives.carry(SPACE)
        for user in (USER, OTHER, FOREIGN):
            await fill(storage, user)
        await storage.archives.add_vectors(USER, SPACE, vectors((1, 2)))
        await storage.archives.add_vectors(FOREIGN, SPACE, vectors((2, 3), shift=5))
        counts = []
        for user in (USER, OTHER, FOREIGN):
            found = (await storage.archives.load(user)).vectors
            assert found is not None
            counts.append(np.flatnonzero(found.present).tolist())
        assert counts == [[0, 1], [], [1, 2]]

    async def test_many_vectors_are_kept_whole(self, storage: Storage) -> None:
        storage.archives.carry(SPACE)
        texts = [f"turn {index}" for index in range(700)]
        written = await storage.archives.append(USER, [archived("s", *texts)], NOW, receipt())
        numbers = range(written.first_no, written.end_no)
        assert await storage.archives.add_vectors(USER, SPACE, vectors(numbers)) == 700
        found = (await storage.archives.load(USER)).vectors
        assert found is not None
        expected = [fixed_point(direction(number)).tolist() for number in numbers]
        assert found.matrix.tolist() == expected

    async def test_vectors_outlive_the_process(self, backend: Backend) -> None:
        storage = await backend.open()
        await storage.archives.add_vectors(USER, SPACE, vectors(await fill(storage)))
        await storage.close()
        storage = await backend.open()
        try:
            storage.archives.carry(SPACE)
            snapshot = await storage.archives.load(USER)
            assert {question: by_both(snapshot, question) for question in QUESTIONS} == BY_BOTH
        finally:
            await storage.close()
