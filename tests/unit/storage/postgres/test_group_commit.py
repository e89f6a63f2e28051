"""Appends that wait together go together, in order, each with its own outcome."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import pytest

from assemblers.records import SessionRef
from storage.conformance.samples import NOW, trace
from storage.encryption.data_key import DataKey, new_secret
from storage.encryption.user_cipher import UserCipher
from storage.errors import AlreadyExists, StorageFull, StorageUnavailable
from storage.ledger import GENESIS
from storage.ports import Seal
from storage.postgres.group_commit import MAX_BATCH, MAX_WAITING, GroupCommit, Pending, take
from storage.postgres.trace_entries import Entry, Outcome, TurnThere, entry_of


def entry(trace_id: str, session_id: str = "", request_id: str = "", tenant_id: str = "acme") -> Entry:
    session = SessionRef(tenant_id, "ann", session_id or f"session of {trace_id}")
    draft = replace(trace(trace_id, session, when=NOW), request_id=request_id)
    return entry_of(draft, UserCipher(session.user, DataKey({1: new_secret()}, 1)))


class Store:
    """What a database would do, and what it was asked."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.error: Exception | None = None
        self.turns: dict[str, bool] = {}
        self.busy: set[str] = set()

    async def __call__(self, tenant_id: str, batch: Sequence[Entry]) -> Sequence[Outcome]:
        assert tenant_id not in self.busy, "a tenant's batches go one at a time"
        self.busy.add(tenant_id)
        try:
            self.batches.append([item.draft.trace_id for item in batch])
            await self.open.wait()
            if self.error is not None:
                raise self.error
            return [self._outcome(item) for item in batch]
        finally:
            self.busy.discard(tenant_id)

    def _outcome(self, item: Entry) -> Outcome:
        trace_id = item.draft.trace_id
        if trace_id in self.turns and not item.turn_known:
            return TurnThere(self.turns[trace_id])
        return Seal(1, GENESIS, trace_id.encode())


async def test_what_comes_in_one_round_goes_together_and_each_gets_its_own() -> None:
    store = Store()
    commits = GroupCommit(store, 1)
    seals = await asyncio.gather(*(commits.append(entry(f"x{index}")) for index in range(10)))
    assert store.batches == [[f"x{index}" for index in range(10)]]
    assert [seal.record_hash for seal in seals] == [f"x{index}".encode() for index in range(10)]
    assert commits.waiting == 0


async def test_what_comes_while_one_is_under_way_waits_for_the_next() -> None:
    store = Store()
    store.open.clear()
    commits = GroupCommit(store, 1)
    appends = [asyncio.ensure_future(commits.append(entry("first")))]
    await asyncio.sleep(0.01)
    appends += [asyncio.ensure_future(commits.append(entry(f"x{index}"))) for index in range(MAX_BATCH + 5)]
    await asyncio.sleep(0.01)
    assert commits.waiting == MAX_BATCH + 6
    store.open.set()
    await asyncio.gather(*appends)
    assert [len(batch) for batch in store.batches] == [1, MAX_BATCH, 5]


async def test_tenants_do_not_wait_for_each_other() -> None:
    store = Store()
    store.open.clear()
    commits = GroupCommit(store, 1)
    appends = [asyncio.ensure_future(commits.append(entry("x", tenant_id=name))) for name in ("a", "b")]
    await asyncio.sleep(0.01)
    assert store.busy == {"a", "b"}
    store.open.set()
    await asyncio.gather(*appends)


def pending(*entries: Entry) -> deque[Pending]:
    loop = asyncio.get_running_loop()
    return deque(Pending(item, loop.create_future(), 0) for item in entries)


def ids(items: Sequence[Pending] | deque[Pending]) -> list[str]:
    return [item.entry.draft.trace_id for item in items]


async def test_a_session_a_trace_id_and_a_request_id_come_once_in_a_batch_and_in_order() -> None:
    queue = pending(
        entry("x1", "s"),
        entry("x2", "s"),
        entry("x3"),
        entry("x3"),
        entry("x4", "", "r"),
        entry("x5", "", "r"),
    )
    assert ids(take(queue)) == ["x1", "x3", "x4"]
    assert ids(queue) == ["x2", "x3", "x5"]
    assert ids(take(queue)) == ["x2", "x3", "x5"]


async def test_nothing_of_a_session_overtakes_what_came_before_it() -> None:
    queue = pending(entry("x1", "s"), entry("x2", "s", "r"), entry("x3", "", "r"))
    assert ids(take(queue)) == ["x1"]
    assert ids(take(queue)) == ["x2"]
    assert ids(take(queue)) == ["x3"]


async def test_a_turn_that_is_there_and_says_the_same_is_no_obstacle() -> None:
    store = Store()
    store.turns = {"same": True, "other": False}
    commits = GroupCommit(store, 1)
    same, other, new = await asyncio.gather(
        *(commits.append(entry(name)) for name in ("same", "other", "new")), return_exceptions=True
    )
    assert isinstance(same, Seal)
    assert isinstance(new, Seal)
    assert isinstance(other, AlreadyExists)
    assert other.what == "turn_id"
    assert store.batches == [["same", "other", "new"], ["same"]]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StorageUnavailable("gone"), StorageUnavailable),
        (StorageFull("full"), StorageFull),
        (RuntimeError("a canary in a text"), StorageUnavailable),
    ],
)
async def test_all_of_a_batch_learn_that_it_failed_each_by_an_error_of_its_own(
    error: Exception, kind: type[Exception]
) -> None:
    store = Store()
    store.error = error
    commits = GroupCommit(store, 1)
    results = await asyncio.gather(
        *(commits.append(entry(f"x{index}")) for index in range(3)), return_exceptions=True
    )
    assert {type(result) for result in results} == {kind}
    assert len({id(result) for result in results}) == 3
    assert "canary" not in repr(results)
    store.error = None
    await commits.append(entry("x4"))


async def test_what_has_waited_too_long_is_not_even_tried() -> None:
    store = Store()
    store.open.clear()
    commits = GroupCommit(store, 0.05)
    appends = [asyncio.ensure_future(commits.append(entry(f"x{index}", "s"))) for index in range(20)]
    await asyncio.sleep(0.1)
    store.open.set()
    results = await asyncio.gather(*appends, return_exceptions=True)
    assert isinstance(results[0], Seal)
    assert {type(result) for result in results[1:]} == {StorageUnavailable}
    assert len(store.batches) == 1
    assert commits.waiting == 0


async def test_one_too_many_is_refused_at_once() -> None:
    store = Store()
    store.open.clear()
    commits = GroupCommit(store, 60)
    item = entry("x")
    appends = [asyncio.ensure_future(commits.append(item)) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(StorageUnavailable, match="too many"):
        await commits.append(item)
    for append in appends:
        append.cancel()
    await asyncio.gather(*appends, return_exceptions=True)


async def test_closing_does_what_was_accepted_and_refuses_what_is_new() -> None:
    store = Store()
    store.open.clear()
    commits = GroupCommit(store, 1)
    accepted = asyncio.ensure_future(commits.append(entry("x1")))
    await asyncio.sleep(0)
    accepted.cancel()
    closing = asyncio.ensure_future(commits.close())
    await asyncio.sleep(0.01)
    with pytest.raises(StorageUnavailable):
        await commits.append(entry("x2"))
    store.open.set()
    await closing
    assert store.batches == [["x1"]]


async def test_a_text_that_is_not_unicode_fails_alone() -> None:
    with pytest.raises(UnicodeError):
        entry("x\ud800")
