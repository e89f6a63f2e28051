"""What was looked up last is in force while it cannot be looked up, and it is said where it is out of date."""

import asyncio
from dataclasses import dataclass

import pytest

from gateway.usecases import last_good
from gateway.usecases.last_good import Found, LastGood
from storage.errors import NotFound, StorageError, StorageFull, StorageUnavailable


@dataclass
class Store:
    """Gives one value, or fails."""

    value: str = "one"
    error: StorageError | None = None
    hangs: bool = False
    asked: int = 0

    async def look(self) -> str:
        self.asked += 1
        if self.hangs:
            await asyncio.sleep(3_600)
        if self.error is not None:
            raise self.error
        return self.value


@pytest.fixture
def kept() -> LastGood[str]:
    return LastGood()


async def test_a_store_that_answers_is_asked_each_time(kept: LastGood[str]):
    store = Store()
    assert await kept.get("k", store.look, 1, answers=True) == Found("one")
    store.value = "two"
    assert await kept.get("k", store.look, 2, answers=True) == Found("two")


@pytest.mark.parametrize("error", [StorageUnavailable("out"), StorageFull("full")])
async def test_a_store_that_fails_leaves_what_it_gave_last(kept: LastGood[str], error: StorageError):
    store = Store()
    await kept.get("k", store.look, 1, answers=True)
    store.error = error
    assert await kept.get("k", store.look, 1, answers=True) == Found("one")
    assert await kept.get("k", store.look, 2, answers=True) == Found("one", is_behind=True)


async def test_a_store_that_is_known_to_be_out_is_not_asked_for_what_is_known(kept: LastGood[str]):
    store = Store()
    await kept.get("k", store.look, 1, answers=True)
    assert await kept.get("k", store.look, 1, answers=False) == Found("one")
    assert store.asked == 1


async def test_one_tenants_value_is_never_anothers(kept: LastGood[str]):
    store = Store()
    await kept.get(("a", "default"), store.look, 1, answers=True)
    store.error = StorageUnavailable("out")
    with pytest.raises(StorageUnavailable):
        await kept.get(("b", "default"), store.look, 1, answers=True)


async def test_what_was_never_known_is_waited_for_a_moment(
    kept: LastGood[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(last_good, "LOOK_SECONDS", 0.01)
    with pytest.raises(StorageUnavailable):
        await kept.get("k", Store(hangs=True).look, 1, answers=False)
    assert await kept.get("k", Store().look, 1, answers=False) == Found("one")


async def test_an_answer_that_there_is_none_is_an_answer(kept: LastGood[str]):
    store = Store()
    await kept.get("k", store.look, 1, answers=True)
    store.error = NotFound("no such policy")
    with pytest.raises(NotFound):
        await kept.get("k", store.look, 1, answers=True)
