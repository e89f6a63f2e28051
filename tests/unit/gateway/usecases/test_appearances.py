"""In which prompts items appeared, found in traces as they are stored."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from assemblers.assembly import OUTCOMES, BudgetReport, CandidateBlock, SourceKind
from assemblers.policy.model import FactKey, FactRules, Policy, PolicyRevision
from assemblers.records import (
    FactKind,
    FactOrigin,
    FactState,
    Outcome,
    SectionKind,
    SessionRef,
    Subject,
    UserRef,
    ValueType,
)
from assemblers.tokens import Exactness
from assemblers.trace.codec import encode_record
from assemblers.trace.record import Counting, Seals, TraceRecord, Versions
from gateway.confirming import StoredEpochs
from gateway.deadline import Deadline
from gateway.usecases.admission import OfferedFact
from gateway.usecases.appearances import all_appearances, appearances
from gateway.usecases.facts import FactOutcome, Facts, Invalidation
from gateway.usecases.freshness import Freshness
from gateway.usecases.resolution import PolicyCatalog
from storage.ports import FactSelector, PageRequest, Receipt, Storage, TraceDraft
from storage.sqlite import open_sqlite

NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)
ANN = UserRef("acme", "ann")


def block(kind: SourceKind, prefix: str, fates: dict[int, Outcome]) -> CandidateBlock:
    count = len(fates)
    zeros = np.zeros(count, np.int32)
    outcomes = np.array([OUTCOMES.index(fate) for fate in fates.values()], np.uint8)
    codes = np.zeros(count, np.uint8)
    return CandidateBlock(
        SectionKind.FACTS, kind, prefix, np.array(list(fates), np.int32), outcomes, codes, codes, ("",),
        zeros, zeros, zeros, 0, 0, {},
    )  # fmt: skip


def record(*blocks: CandidateBlock) -> bytes:
    return encode_record(
        TraceRecord(
            format=1, trace_id="t", tenant_id="acme", user="u" * 32, session="s" * 32, turn="r" * 32, policy="p",
            prefix="", versions=Versions("0.1.0", 1, 1, {}), counting=Counting("x", 1000, Exactness.EXACT, {}),
            now=NOW, zone="UTC", max_breakpoints=4, formats=(),
            budget=BudgetReport(8000, 7000, Exactness.EXACT, "x", 1000, ()), blocks=blocks, history=None,
            degradations=(), timings=(), seals=Seals(b"1" * 32, b"2" * 32, b"3" * 32),
        )
    )  # fmt: skip


async def trace(storage: Storage, number: int, *blocks: CandidateBlock, user: str = "ann") -> str:
    trace_id = f"{number:032x}"
    session = SessionRef("acme", user, "s")
    when = NOW + timedelta(seconds=number)
    await storage.traces.append(
        TraceDraft(trace_id, session, f"t{number}", "p", when, record(*blocks), b"", b"b" * 32)
    )
    return trace_id


IN, OUT, SHORT = Outcome.INCLUDED, Outcome.EXCLUDED, Outcome.SHORTENED


@pytest.fixture
async def storage(tmp_path: Path):
    async with await open_sqlite(tmp_path) as opened:
        yield opened


async def found(storage: Storage, *wanted: str) -> list[tuple[str, list[str]]]:
    return [
        (a.trace.trace_id, sorted(a.item_ids)) for a in await all_appearances(storage.traces, ANN, wanted)
    ]


async def test_only_prompts_that_included_an_item_count_and_only_the_users_own(storage: Storage):
    facts = block(SourceKind.FACT, "fact/", {1: IN, 2: OUT, 12: IN})
    excerpts = block(SourceKind.EXCERPT, "excerpt/", {2: IN, 3: SHORT})
    one = await trace(storage, 1, facts, excerpts)
    two = await trace(storage, 2, block(SourceKind.FACT, "fact/", {2: IN}))
    await trace(storage, 3, facts, user="bob")
    assert await found(storage, "fact/1") == [(one, ["fact/1"])]
    assert await found(storage, "fact/2") == [(two, ["fact/2"])]
    assert await found(storage, "excerpt/3", "fact/2", "fact/12") == [
        (two, ["fact/2"]),
        (one, ["excerpt/3", "fact/12"]),
    ]
    assert await found(storage, "fact/3", "excerpt/1") == []
    assert await found(storage) == []


async def test_pages_give_every_appearance_once_newest_first(storage: Storage):
    wanted = block(SourceKind.FACT, "fact/", {7: IN})
    other = block(SourceKind.FACT, "fact/", {8: IN})
    ids = [await trace(storage, n, wanted if n % 3 == 0 else other) for n in range(1, 31)]
    expected = [trace_id for n, trace_id in enumerate(ids, 1) if n % 3 == 0][::-1]
    for size in (1, 2, 7, 100):
        seen: list[str] = []
        request = PageRequest(size)
        while True:
            page = await appearances(storage.traces, ANN, ["fact/7"], request)
            assert len(page.items) <= size
            seen += [a.trace.trace_id for a in page.items]
            if not page.next_cursor:
                break
            assert page.items
            request = PageRequest(size, page.next_cursor)
        assert seen == expected


async def test_traces_from_before_an_instant_are_not_looked_at(storage: Storage):
    wanted = block(SourceKind.FACT, "fact/", {7: IN})
    for number in (1, 2, 3):
        await trace(storage, number, wanted)
    since = NOW + timedelta(seconds=2)
    assert len(await all_appearances(storage.traces, ANN, ["fact/7"], since)) == 2


LATER = Deadline.after(600.0)
RECORD: Receipt[tuple[FactOutcome, ...]] = Receipt("acme", "RecordFacts", "", b"", NOW, lambda _: b"")
INVALIDATE: Receipt[Invalidation] = Receipt("acme", "InvalidateFacts", "", b"", NOW, lambda _: b"")


class _Catalog(PolicyCatalog):
    async def resolve(self, tenant_id: str, policy: str) -> PolicyRevision:
        key = FactKey("style", ValueType.TEXT, FactKind.PREFERENCE, "a gap")
        return PolicyRevision("", "d", Policy("p", (), facts=FactRules((key,))))


def facts_of(storage: Storage) -> Facts:
    fresh = Freshness(storage, StoredEpochs(storage.epochs))
    return Facts(storage.facts, storage.traces, _Catalog(), fresh)


async def write(facts: Facts, *subjects: str) -> None:
    for subject in subjects:
        about = Subject("customer", subject)
        offer = OfferedFact(about, "style", ValueType.TEXT, "short", None, FactOrigin.STATED, subject, "w")
        await facts.record(ANN, (offer,), "", NOW, RECORD)


async def test_an_invalidation_counts_the_prompts_that_included_any_of_its_facts(storage: Storage):
    facts = facts_of(storage)
    await write(facts, "a", "b", "c")
    await trace(storage, 1, block(SourceKind.FACT, "fact/", {1: IN, 2: IN, 3: IN}))
    await trace(storage, 2, block(SourceKind.FACT, "fact/", {1: OUT, 2: IN}))
    await trace(storage, 3, block(SourceKind.FACT, "fact/", {1: OUT, 3: IN}))
    dry = await facts.validate_invalidation(ANN, FactSelector(source="b"), LATER)
    done = await facts.invalidate(ANN, FactSelector(writer="w"), "r", NOW, LATER, INVALIDATE)
    assert ([f.no for f in dry.facts], dry.affected_traces) == ([2], 2)
    assert ([f.no for f in done.facts], done.affected_traces) == ([1, 2, 3], 3)


async def test_invalidating_does_not_wait_for_a_count_that_takes_too_long(storage: Storage):
    facts = facts_of(storage)
    await write(facts, "a")
    for number in range(1, 40):
        await trace(storage, number, block(SourceKind.FACT, "fact/", {1: IN}))
    done = await facts.invalidate(ANN, FactSelector(writer="w"), "r", NOW, Deadline.after(0.0), INVALIDATE)
    assert ([f.no for f in done.facts], done.affected_traces) == ([1], None)
    assert (await facts.get(ANN, 1)).state is FactState.INVALIDATED
