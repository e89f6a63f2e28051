"""Looking up what a trace names, on a real store, and what is said of each thing that is gone."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from assemblers.policy.model import PolicyRevision
from assemblers.records import (
    Fact,
    FactKind,
    FactOrigin,
    FactState,
    PrefixRevision,
    Role,
    Subject,
    Text,
    Turn,
    ValueType,
)
from gateway.confirming import StoredEpochs
from gateway.errors import FailedPrecondition, GatewayError, Internal, NotFound, Reason
from gateway.tokenizers import TokenizerRegistry
from gateway.usecases.freshness import Freshness
from gateway.usecases.opened_trace import OpenedTrace, open_captured
from gateway.usecases.replay_trace import Replayer
from gateway.usecases.surroundings import FACTS_AT_ONCE, Lookups
from storage.ports import FactDraft, FactWritten, Receipt, Storage, TurnsWritten
from storage.sqlite import open_sqlite
from tests.replay.scene import EXCERPTS, NOW, PREFIX, SESSION, USER, play, policy

SCENE = play()


class Catalog:
    """One revision."""

    async def resolve(self, tenant_id: str, policy_name: str) -> PolicyRevision:
        revision = policy()
        if (tenant_id, policy_name) != ("acme", revision.name):
            raise NotFound
        return revision


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    async with await open_sqlite(tmp_path) as opened:
        yield opened


def lookups(storage: Storage) -> Lookups:
    fresh = Freshness(storage, StoredEpochs(storage.epochs))
    return Lookups(storage, Catalog(), TokenizerRegistry(), fresh)


def opened(**changes: object) -> OpenedTrace:
    """The scene's trace, counted by a vocabulary that this release has; `changes` are of its record."""
    trace = open_captured(SCENE.captured, SESSION)
    counting = replace(trace.record.counting, tokenizer="o200k_base")
    fields = {"counting": counting, "blocks": (), "prefix": ""} | changes
    return replace(trace, record=replace(trace.record, **fields))  # type: ignore[arg-type]  # fields of the record


async def failure(call: object) -> GatewayError:
    with pytest.raises(GatewayError) as caught:
        await call  # type: ignore[misc]
    return caught.value


def draft(key: str, value: str) -> FactDraft:
    return FactDraft(
        Subject(), key, ValueType.TEXT, value, FactKind.ATTRIBUTE, FactOrigin.TOOL, "crm", "agent", 1000, NOW,
        NOW + timedelta(days=90),
    )  # fmt: skip


async def record(storage: Storage, *drafts: FactDraft) -> None:
    receipt: Receipt[tuple[FactWritten, ...]] = Receipt("acme", "RecordFacts", "", b"", NOW, lambda _: b"")
    await storage.facts.record(USER, drafts, NOW, receipt)


async def test_explaining_gets_all_facts_retired_and_deleted_ones_and_more_than_a_page(storage: Storage):
    many = [draft(f"key{number}", "v") for number in range(FACTS_AT_ONCE + 2)]
    await record(storage, *many, draft("key1", "newer"))
    receipt: Receipt[Fact] = Receipt("acme", "DeleteFact", "", b"", NOW, lambda _: b"")
    await storage.facts.delete(USER, 1, "", NOW, receipt)
    facts = (await lookups(storage).everything_for(opened())).facts
    assert sorted(facts) == list(range(1, FACTS_AT_ONCE + 4))
    assert facts[1].state is FactState.DELETED
    assert facts[2].state is FactState.SUPERSEDED


async def test_turns_are_dated_while_they_are_live_and_once_they_are_archived(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("gateway.usecases.surroundings.TURNS_AT_ONCE", 2)
    live = [Turn(f"live-{n}", Role.USER, (Text("hi"),), NOW + timedelta(minutes=n)) for n in range(3)]
    receipt: Receipt[TurnsWritten] = Receipt("acme", "AppendTurns", "", b"", NOW, lambda _: b"")
    await storage.transcripts.record(SESSION, live, NOW, None, receipt)
    own = replace(EXCERPTS[0], turn_id="old-1", session_id=SESSION.session_id)
    other = replace(EXCERPTS[1], turn_id="old-2", session_id="another")
    given = replace(SCENE.surroundings, excerpts={own.no: own, other.no: other})
    found = await lookups(storage).turn_times(opened(), given, NOW)
    assert found == {"old-1": own.occur_time} | {turn.turn_id: turn.occur_time for turn in live}


async def test_facts_are_found_by_number_in_whatever_state(storage: Storage):
    await record(storage, draft("plan", "a"), draft("plan", "b"), draft("plan", "c"))
    found = await lookups(storage).facts(USER, [1, 3, 7])
    assert {no: fact.value for no, fact in found.items()} == {1: "a", 3: "c"}


async def test_a_policy_that_cannot_be_read_any_more_names_the_release_that_could(storage: Storage):
    error = await failure(lookups(storage).candidates_of(opened(policy="policies/gone")))
    assert isinstance(error, FailedPrecondition)
    assert (error.reason, error.metadata) == (Reason.POLICY_UNUSABLE, {"policy": "policies/gone"})
    assert "release 0.1.0" in error.message


async def test_a_prefix_that_is_gone_is_erased(storage: Storage):
    error = await failure(lookups(storage).candidates_of(opened(prefix=PREFIX.name)))
    assert (error.reason, "prefix revision was erased" in error.message) == (Reason.ERASED, True)


async def test_a_prefix_is_found_by_the_name_in_the_record(storage: Storage):
    receipt: Receipt[PrefixRevision] = Receipt("acme", "RegisterPrefixRevision", "", b"", NOW, lambda _: b"")
    await storage.prefixes.register(PREFIX, receipt)
    found = await lookups(storage).candidates_of(opened(prefix=PREFIX.name))
    assert found.prefix == PREFIX


async def test_excerpts_that_are_gone_are_erased(storage: Storage):
    trace = open_captured(SCENE.captured, SESSION)
    error = await failure(lookups(storage).candidates_of(opened(blocks=trace.record.blocks)))
    assert (error.reason, "an excerpt was erased" in error.message) == (Reason.ERASED, True)


@pytest.mark.parametrize("change", [{"zone": "Mars/Olympus"}, {"zone": "../etc"}, {"counting": None}])
async def test_a_zone_or_vocabulary_unknown_here_asks_for_the_release_that_knew_it(
    storage: Storage, change: dict[str, object]
):
    if "counting" in change:
        change = {"counting": open_captured(SCENE.captured, SESSION).record.counting}
    error = await failure(lookups(storage).candidates_of(opened(**change)))
    assert isinstance(error, Internal)
    assert "replay it with the release 0.1.0" in error.message


async def test_an_unknown_trace_is_not_found(storage: Storage):
    replayer = Replayer(storage.traces, lookups(storage))
    assert isinstance(await failure(replayer.replay("acme", "22" * 16)), NotFound)
