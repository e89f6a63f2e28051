"""What is answered about a trace whose content was erased, and to whom it is not."""

from dataclasses import dataclass, replace
from datetime import datetime

import pytest

from assemblers.records import Outcome, UserRef
from assemblers.records import Reason as Why
from assemblers.trace.absence import Missed, MissedExcerpt, MissedFact, MissedKey, MissedText
from assemblers.trace.findings import Finding
from assemblers.trace.replay import Surroundings
from gateway.errors import FailedPrecondition, GatewayError, NotFound, Reason
from gateway.usecases import appearances as scan
from gateway.usecases.opened_trace import OpenedTrace
from gateway.usecases.replay_trace import Replayer
from gateway.usecases.surroundings import Lookups
from gateway.usecases.traces import TraceReader
from storage.errors import NotFound as NotStored
from storage.ports import Page, PageRequest, Seal, StoredTrace, TraceSelector
from tests.replay.scene import DAY, NOW, SESSION, Scene, play, policy

TRACE_ID = "11" * 16


class Traces:
    """One stored trace."""

    def __init__(self, scene: Scene, *, erased: bool) -> None:
        content = None if erased else scene.captured.content
        seal = Seal(1, bytes(32), bytes(32))
        self._stored = StoredTrace(TRACE_ID, SESSION, "t7", "p", NOW, scene.captured.record, content, seal)

    async def get(self, tenant_id: str, trace_id: str) -> StoredTrace:
        if (tenant_id, trace_id) != ("acme", TRACE_ID):
            raise NotStored
        return self._stored


class Known(Lookups):
    """Looks everything up in a scene."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings_then = surroundings

    async def everything_for(self, trace: OpenedTrace) -> Surroundings:
        return self._surroundings_then

    async def turn_times(self, trace: OpenedTrace, given: Surroundings, now: datetime) -> dict[str, datetime]:
        return {"t5": NOW - DAY}


class Ledger:
    """Many traces of one assembly, newest first; cursors are places."""

    def __init__(self, count: int) -> None:
        scene = play()
        self.most_at_once = 0
        self._stored = [
            StoredTrace(
                f"{number:032x}", SESSION, f"t{number}", "p", NOW, scene.captured.record, scene.captured.content,
                Seal(number, bytes(32), bytes(32)),
            )
            for number in range(count, 0, -1)
        ]  # fmt: skip

    async def list(self, tenant_id: str, selector: TraceSelector, page: PageRequest) -> Page[StoredTrace]:
        start = int(page.cursor or 0)
        items = tuple(self._stored[start : start + page.size])
        self.most_at_once = max(self.most_at_once, len(items))
        return Page(items, str(start + page.size) if start + page.size < len(self._stored) else "")


@dataclass
class Store:
    """Of a storage, what listing needs."""

    traces: Ledger
    archives: None = None


def over(ledger: Ledger) -> TraceReader:
    return TraceReader(Store(ledger), None, None)  # type: ignore[arg-type]  # listing needs the ledger only


async def test_a_page_of_traces_is_whole_though_few_are_read_at_a_time():
    ledger = Ledger(100)
    one = await over(ledger).list("acme", TraceSelector(), PageRequest(70))
    two = await over(ledger).list("acme", TraceSelector(), PageRequest(70, one.next_cursor))
    assert [trace.turn_id for trace in (*one.items, *two.items)] == [f"t{n}" for n in range(100, 0, -1)]
    assert (len(one.items), two.next_cursor) == (70, "")
    assert ledger.most_at_once <= 16
    assert all(trace.whole().material == () for trace in one.items)


async def test_a_page_of_appearances_is_whole_though_few_are_read_at_a_time():
    ledger = Ledger(150)
    one = await over(ledger).appearances(SESSION.user, "fact/2", PageRequest(100))
    two = await over(ledger).appearances(SESSION.user, "fact/2", PageRequest(100, one.next_cursor))
    assert [a.turn_id for a in (*one.items, *two.items)] == [f"t{n}" for n in range(150, 0, -1)]
    assert (len(one.items), two.next_cursor) == (100, "")


async def test_a_rare_item_is_sought_in_a_bounded_number_of_traces_at_a_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scan, "MOST_SCANNED", 80)
    one = await over(Ledger(150)).appearances(SESSION.user, "fact/1", PageRequest(50))
    assert one.items == ()
    assert 80 <= int(one.next_cursor) < 150
    two = await over(Ledger(150)).appearances(SESSION.user, "fact/1", PageRequest(50, one.next_cursor))
    assert two.next_cursor == ""


def reader(scene: Scene, *, erased: bool = False) -> TraceReader:
    lookups = Known(scene.surroundings)
    replayer = Replayer(Traces(scene, erased=erased), lookups)  # type: ignore[arg-type]  # only `get` is asked for
    return TraceReader(None, replayer, lookups)  # type: ignore[arg-type]  # explaining needs no store


async def absent(reader: TraceReader, missed: Missed, owner: UserRef | None = None) -> Finding:
    explained = await reader.explain_absence("acme", TRACE_ID, missed, owner)
    return explained.absences[0].finding


async def failure(call: object) -> GatewayError:
    with pytest.raises(GatewayError) as caught:
        await call  # type: ignore[misc]
    return caught.value


async def test_a_numbered_item_of_an_erased_trace_is_explained_without_its_bytes():
    explained = (await reader(play(), erased=True).explain_item("acme", TRACE_ID, "fact/2", NOW)).explanation
    assert explained.text == ""
    assert explained.candidate.outcome is Outcome.INCLUDED
    assert explained.candidate.location is not None
    assert [step.kind for step in explained.steps][-1] == "SELECTED"


async def test_a_slot_is_dated_by_its_turn():
    explained = (await reader(play()).explain_item("acme", TRACE_ID, "slot/focus", NOW)).explanation
    assert explained.steps[0].time == NOW - DAY


@pytest.mark.parametrize("item_id", ["slot/focus", "question", "material/0"])
async def test_an_item_that_only_the_content_named_is_no_longer_found(item_id: str):
    call = reader(play(), erased=True).explain_item("acme", TRACE_ID, item_id, NOW)
    assert isinstance(await failure(call), NotFound)


async def test_a_prompt_that_cannot_be_replayed_still_explains_where_its_items_stood():
    scene = play()
    facts = {no: fact for no, fact in scene.surroundings.facts.items() if no != 6}
    scene = replace(scene, surroundings=replace(scene.surroundings, facts=facts))
    explained = (await reader(scene).explain_item("acme", TRACE_ID, "fact/2", NOW)).explanation
    assert explained.text == ""
    assert explained.locations == (explained.candidate.location,)


async def test_an_erased_trace_still_says_why_facts_and_recorded_excerpts_are_absent():
    one = reader(play(policy(excerpts=2)), erased=True)
    assert await absent(one, MissedFact(1)) is Finding.EXCLUDED
    assert await absent(one, MissedKey("tone")) is Finding.PRESENT
    explained = await one.explain_absence("acme", TRACE_ID, MissedExcerpt(8))
    assert explained.absences[0].reason is Why.OVER_CEILING


@pytest.mark.parametrize("missed", [MissedText("pizza"), MissedExcerpt(8)])
async def test_what_only_the_question_could_tell_is_erased_with_it(missed: Missed):
    one = reader(play(kept=2), erased=True)
    error = await failure(one.explain_absence("acme", TRACE_ID, missed))
    assert isinstance(error, FailedPrecondition)
    assert error.reason is Reason.ERASED


@pytest.mark.parametrize("missed", [MissedFact(99), MissedExcerpt(99)])
async def test_a_number_that_the_user_never_had_is_not_found(missed: Missed):
    assert isinstance(await failure(reader(play()).explain_absence("acme", TRACE_ID, missed)), NotFound)


async def test_another_users_fact_is_not_found_though_the_number_is_there():
    one = reader(play())
    assert await absent(one, MissedFact(2), SESSION.user) is Finding.PRESENT
    call = one.explain_absence("acme", TRACE_ID, MissedFact(2), UserRef("acme", "bob"))
    assert isinstance(await failure(call), NotFound)
    assert isinstance(await failure(one.get("acme", "22" * 16)), NotFound)
