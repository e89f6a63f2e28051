"""A repeat that comes through another gateway gets the first answer, as long as the user is still the same."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assemblers.records import UserRef
from gateway.usecases.freshness import Freshness
from gateway.usecases.shared_answers import SharedAnswers
from storage.errors import Repeated, RequestIdReused, StorageUnavailable
from storage.ports import Epochs, Receipt
from storage.ports.answers import AnswerCopy
from storage.ports.confirmations import Confirmation, EpochSource
from storage.sqlite import open_sqlite

NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)
ANN, BOB = UserRef("acme", "ann"), UserRef("acme", "bob")


class Copies:
    """The port `AnswerCopies` in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[tuple[UserRef, str, str], AnswerCopy] = {}
        self.is_down = False

    async def find(self, user: UserRef, method: str, request_id: str, now: datetime) -> AnswerCopy | None:
        if self.is_down:
            raise StorageUnavailable("down")
        return self.kept.get((user, method, request_id))

    async def keep(
        self, user: UserRef, method: str, request_id: str, copy: AnswerCopy, now: datetime
    ) -> None:
        if self.is_down:
            raise StorageUnavailable("down")
        self.kept.setdefault((user, method, request_id), copy)


class Confirmer:
    """The port `EpochConfirmer`, which says what a test wants."""

    def __init__(self) -> None:
        self.epochs: Epochs | None = Epochs(1, 1, 1)

    async def confirm(
        self,
        user: UserRef,
        at_least: Epochs | None = None,
        within: float | None = None,
        keep_unknown: bool = False,
    ) -> Confirmation | None:
        return self.known(user)

    def known(self, user: UserRef) -> Confirmation | None:
        return None if self.epochs is None else Confirmation(self.epochs, EpochSource.SQL, 0.0)


class Gateways:
    """Two gateways, and how often they did the work."""

    def __init__(self, freshness: Freshness, copies: Copies, confirmer: Confirmer) -> None:
        self.copies, self.confirmer, self.done = copies, confirmer, 0
        self.one, self.other = (SharedAnswers(copies, freshness) for _ in range(2))

    async def work(self) -> int:
        self.done += 1
        return self.done


@pytest.fixture
async def gateways(tmp_path: Path) -> AsyncIterator[Gateways]:
    confirmer, copies = Confirmer(), Copies()
    async with await open_sqlite(tmp_path / "data") as storage:
        yield Gateways(Freshness(storage, confirmer), copies, confirmer)


def receipt(request_id: str = "r1", body: bytes = b"b") -> Receipt[int]:
    return Receipt("acme", "UpdateSlots", request_id, body, NOW, lambda result: b"%d" % result)


async def test_the_other_gateway_gives_the_first_answer_and_does_nothing(gateways: Gateways):
    assert await gateways.one.once(ANN, receipt(), gateways.work) == 1
    with pytest.raises(Repeated) as caught:
        await gateways.other.once(ANN, receipt(), gateways.work)
    assert (caught.value.response, gateways.done) == (b"1", 1)


async def test_another_body_is_refused(gateways: Gateways):
    await gateways.one.once(ANN, receipt(), gateways.work)
    with pytest.raises(RequestIdReused):
        await gateways.other.once(ANN, receipt(body=b"other"), gateways.work)


async def test_another_user_or_request_or_none_is_done(gateways: Gateways):
    await gateways.one.once(ANN, receipt(), gateways.work)
    await gateways.other.once(BOB, receipt(), gateways.work)
    await gateways.other.once(ANN, receipt("r2"), gateways.work)
    for _ in range(2):
        await gateways.other.once(ANN, receipt(""), gateways.work)
    assert gateways.done == 5


async def test_an_answer_from_before_a_change_of_the_user_is_not_given(gateways: Gateways):
    await gateways.one.once(ANN, receipt(), gateways.work)
    gateways.confirmer.epochs = Epochs(2, 1, 1)
    assert await gateways.other.once(ANN, receipt(), gateways.work) == 2


async def test_where_nobody_can_say_what_is_current_nothing_is_answered_from_copies(gateways: Gateways):
    await gateways.one.once(ANN, receipt(), gateways.work)
    gateways.confirmer.epochs = None
    assert await gateways.other.once(ANN, receipt(), gateways.work) == 2


async def test_without_the_copies_the_work_is_done(gateways: Gateways):
    gateways.copies.is_down = True
    assert await gateways.one.once(ANN, receipt(), gateways.work) == 1
    assert gateways.copies.kept == {}


async def test_what_failed_leaves_no_copy(gateways: Gateways):
    async def fails() -> int:
        raise LookupError

    with pytest.raises(LookupError):
        await gateways.one.once(ANN, receipt(), fails)
    assert await gateways.other.once(ANN, receipt(), gateways.work) == 1
