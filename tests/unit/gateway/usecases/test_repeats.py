"""Repeats of writes that touch only the session cache."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from gateway.usecases.repeats import Repeats
from storage.errors import Repeated, RequestIdReused
from storage.ports import Receipt

NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)


def receipt(
    request_id: str = "r1", body: bytes = b"b", now: datetime = NOW, tenant: str = "acme"
) -> Receipt[int]:
    return Receipt(tenant, "UpdateSlots", request_id, body, now, lambda result: b"%d" % result)


class Work:
    """Counts how often it is done."""

    def __init__(self, fails: bool = False) -> None:
        self.done, self.fails = 0, fails

    async def __call__(self) -> int:
        await asyncio.sleep(0)
        if self.fails:
            raise LookupError
        self.done += 1
        return self.done


async def test_a_repeat_gets_the_first_answer_and_does_nothing():
    repeats, work = Repeats(), Work()
    assert await repeats.once(receipt(), work) == 1
    with pytest.raises(Repeated) as caught:
        await repeats.once(receipt(), work)
    assert (caught.value.response, work.done) == (b"1", 1)


async def test_two_at_once_do_it_once():
    repeats, work = Repeats(), Work()
    results = await asyncio.gather(*(repeats.once(receipt(), work) for _ in range(5)), return_exceptions=True)
    assert work.done == 1
    assert sum(isinstance(result, Repeated) for result in results) == 4


async def test_another_body_is_refused():
    repeats, work = Repeats(), Work()
    await repeats.once(receipt(), work)
    with pytest.raises(RequestIdReused):
        await repeats.once(receipt(body=b"other"), work)
    assert work.done == 1


async def test_another_tenant_or_no_id_at_all_is_another_request():
    repeats, work = Repeats(), Work()
    for one in (receipt(), receipt(tenant="other"), receipt(""), receipt("")):
        await repeats.once(one, work)
    assert work.done == 4


async def test_what_failed_may_be_tried_again():
    repeats = Repeats()
    with pytest.raises(LookupError):
        await repeats.once(receipt(), Work(fails=True))
    assert await repeats.once(receipt(), Work()) == 1


async def test_an_answer_is_kept_for_a_day():
    repeats, work = Repeats(), Work()
    await repeats.once(receipt(), work)
    with pytest.raises(Repeated):
        await repeats.once(receipt(now=NOW + timedelta(hours=24, seconds=-1)), work)
    await repeats.once(receipt(now=NOW + timedelta(hours=24)), work)
    assert work.done == 2


async def test_no_more_answers_are_kept_than_there_is_room_for():
    repeats, work = Repeats(capacity=2), Work()
    for number in range(3):
        await repeats.once(receipt(f"r{number}"), work)
    await repeats.once(receipt("r0"), work)
    assert work.done == 4
