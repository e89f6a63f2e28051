"""Errands run beside the calls and fail nobody."""

import asyncio

import pytest

from storage.errands import Errands
from storage.errors import StorageUnavailable


async def test_an_errand_runs_though_nobody_waits() -> None:
    done = asyncio.Event()

    async def work() -> None:
        done.set()

    Errands().begin(work)
    async with asyncio.timeout(5):
        await done.wait()


async def test_a_store_that_does_not_answer_is_no_failure_and_a_mistake_is() -> None:
    async def unavailable() -> None:
        raise StorageUnavailable("down")

    async def mistaken() -> None:
        raise LookupError

    errands = Errands()
    await errands.begin(unavailable)
    with pytest.raises(LookupError):
        await errands.begin(mistaken)


async def test_closing_ends_what_is_under_way_and_what_has_not_begun() -> None:
    begun: list[int] = []

    async def work() -> None:
        begun.append(1)
        await asyncio.Event().wait()

    errands = Errands()
    errands.begin(work)
    await asyncio.sleep(0)
    errands.begin(work)
    await errands.close()
    assert begun == [1]
