"""Traces are durable somewhere before an answer leaves, and a ledger that hangs costs its share of the time."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gateway.deadline import Deadline
from gateway.errors import Unavailable
from gateway.usecases.probation import MOST_FAILURES, PROBE_SECONDS, Probation
from gateway.usecases.runtime import Runtime
from gateway.usecases.trace_keeping import TraceKeeper
from storage.conformance.samples import USER, trace
from storage.errors import AlreadyExists, StorageFull
from storage.ports import TraceDraft
from storage.sqlite import open_sqlite
from tests.faulty import FaultyStorage


@dataclass
class Spool:
    """A spool in memory."""

    kept: list[TraceDraft] = field(default_factory=list)
    is_full: bool = False

    @property
    def depth(self) -> int:
        return len(self.kept)

    @property
    def has_room(self) -> bool:
        return not self.is_full

    async def add(self, draft: TraceDraft) -> None:
        if self.is_full:
            raise StorageFull("full")
        self.kept.append(draft)


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[FaultyStorage]:
    async with await open_sqlite(tmp_path) as opened:
        yield FaultyStorage(opened)


def keeper(storage: FaultyStorage, spool: Spool | None) -> TraceKeeper:
    return TraceKeeper(storage.port, spool, Runtime())


async def test_a_ledger_that_hangs_costs_its_share_and_the_trace_is_spooled(storage: FaultyStorage):
    spool = Spool()
    storage.sql.slow(30, "append")
    assert not await keeper(storage, spool).keep(trace("t"), Deadline.after(0.2), sql_answers=True)
    assert [draft.trace_id for draft in spool.kept] == ["t"]


async def test_a_ledger_that_is_known_to_be_out_is_not_asked(storage: FaultyStorage):
    spool = Spool()
    assert not await keeper(storage, spool).keep(trace("t"), Deadline.after(5), sql_answers=False)
    assert (spool.depth, storage.sql.calls) == (1, [])


async def test_a_turn_that_was_answered_is_no_outage(storage: FaultyStorage):
    spool, deadline = Spool(), Deadline.after(5)
    keep = keeper(storage, spool).keep
    assert await keep(trace("a", turn_id="t"), deadline, sql_answers=True)
    with pytest.raises(AlreadyExists):
        await keep(trace("b", turn_id="t"), deadline, sql_answers=True)
    assert spool.depth == 0


async def test_without_a_spool_the_ledger_failing_is_the_call_failing(storage: FaultyStorage):
    storage.sql.out("append", error=lambda: StorageFull("full"))
    with pytest.raises(StorageFull):
        await keeper(storage, None).keep(trace("t"), Deadline.after(5), sql_answers=True)


async def test_neither_takes_it(storage: FaultyStorage):
    storage.sql.out("append")
    with pytest.raises(Unavailable, match="no answer leaves without one"):
        await keeper(storage, Spool(is_full=True)).keep(trace("t"), Deadline.after(5), sql_answers=True)


async def test_an_empty_spool_says_that_the_ledger_took_everything(storage: FaultyStorage):
    spool, deadline = Spool(), Deadline.after(5)
    kept = keeper(storage, spool)
    storage.sql.out("append")
    for number in range(MOST_FAILURES + 3):
        await kept.keep(trace(f"t{number}"), deadline, sql_answers=True)
    assert storage.sql.calls.count("append") == MOST_FAILURES
    storage.sql.heal()
    assert not await kept.keep(trace("u"), deadline, sql_answers=True)
    spool.kept.clear()
    assert await kept.keep(trace("v"), deadline, sql_answers=True)


async def test_a_user_without_a_pseudonym_waits_a_share_of_the_time_for_one(storage: FaultyStorage):
    storage.sql.slow(30, "pseudonym")
    kept = keeper(storage, Spool())
    provisional = await kept.pseudonym(USER, Deadline.after(0.2), sql_answers=True)
    assert await kept.pseudonym(USER, Deadline.after(5), sql_answers=False) == provisional
    storage.sql.heal()
    durable = await kept.pseudonym(USER, Deadline.after(5), sql_answers=True)
    assert durable not in ("", provisional)
    assert await keeper(storage, Spool()).pseudonym(USER, Deadline.after(5), sql_answers=False) == durable


async def test_a_call_that_is_cancelled_is_cancelled(storage: FaultyStorage):
    spool = Spool()
    storage.sql.slow(30, "append")
    waiting = asyncio.create_task(
        keeper(storage, spool).keep(trace("t"), Deadline.after(20), sql_answers=True)
    )
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert spool.depth == 0


class TestProbation:
    def test_the_first_failures_change_nothing(self):
        probation = Probation(lambda: 0.0)
        for _ in range(MOST_FAILURES - 1):
            assert probation.admits()
            probation.failed()
        assert probation.admits()

    def test_then_one_call_a_second_finds_out(self):
        now = [0.0]
        probation = Probation(lambda: now[0])
        for _ in range(MOST_FAILURES):
            probation.failed()
        assert [probation.admits() for _ in range(3)] == [False] * 3
        now[0] += PROBE_SECONDS
        assert [probation.admits() for _ in range(3)] == [True, False, False]
        probation.failed()
        now[0] += PROBE_SECONDS
        assert probation.admits()
        probation.succeeded()
        assert [probation.admits() for _ in range(3)] == [True] * 3

    def test_a_success_in_between_begins_the_count_anew(self):
        probation = Probation(lambda: 0.0)
        for _ in range(3):
            for _ in range(MOST_FAILURES - 1):
                probation.failed()
            probation.succeeded()
        assert not probation.is_out
