"""Faults that users of comparable software reported: bytes of the prefix, clocks, dates and ages.

Rows that are held elsewhere: B23 over twenty processes, B19 and B21 in the core
tests/property/test_purity_of_assembly.py; P35's server zone and P39's boundaries
tests/unit/assemblers/text/test_dates.py; what looks dynamic in a prefix tests/unit/assemblers/test_prefix_lint.py.
"""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from muniment.v1 import context_pb2, prefix_pb2, types_pb2
from tests.integration.in_process import Gateway
from tests.integration.requests import DESK, TENANT
from tests.integration.talk import Person, facts, history, prompt_text, stamp, use_policy


@pytest.fixture
def server_zone() -> Iterator[None]:
    """The server's own zone is far away from UTC."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "America/Los_Angeles"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def head(answer: context_pb2.AssembleContextResponse) -> tuple[Any, ...]:
    """Everything before the facts: tools and prefix."""
    prompt = answer.prompt
    return (
        prompt.prefix_sha256,
        prompt.messages[0].SerializeToString(),
        [t.definition_json for t in prompt.tools],
    )


def until_facts(answer: context_pb2.AssembleContextResponse) -> tuple[Any, ...]:
    return (*head(answer), facts(answer))


async def test_p75_nothing_of_a_call_changes_the_prefix(gateway: Gateway, ada: Person):
    bob = Person(gateway, "bob")
    await bob.state("note", "moves house")
    await bob.remember("old", "The grinder jams.")
    first = await ada.ask("Hello?")
    gateway.passes(days=3, seconds=61)
    seen = [
        first,
        await ada.ask("And now?", "s2", labels={"a": "b"}),
        await bob.ask("The grinder?", time_zone="Asia/Tokyo"),
    ]
    assert len({str(head(answer)) for answer in seen}) == 1
    await gateway.call(
        "RegisterPrefixRevision",
        prefix_pb2.RegisterPrefixRevisionRequest(tenant_id=TENANT, prefix_id="desk", text="You help!"),
    )
    assert head(await ada.ask("Hello again?")) != head(first)


async def test_b19_a_minute_later_everything_up_to_the_facts_has_the_same_bytes(
    gateway: Gateway, ada: Person
):
    await ada.state("note", "moves house")
    first = await ada.ask("Hello?")
    gateway.passes(seconds=61)
    assert until_facts(await ada.ask("Hello?")) == until_facts(first)


async def test_b21_another_question_finds_the_same_facts_in_the_same_bytes(gateway: Gateway, ada: Person):
    for key in ("plan", "currency", "note"):
        await ada.state(key, "starter")
    await ada.remember("old", "The grinder jams.", "The kettle leaks.")
    answers = [
        await ada.ask(q) for q in ("What about the grinder?", "What about the kettle?", "In which currency?")
    ]
    assert len({str(until_facts(answer)) for answer in answers}) == 1
    assert len({history(answer) for answer in answers}) > 1
    digests = [{d.section: d.sha256 for d in a.prompt.section_sha256} for a in answers]
    assert len({d[types_pb2.SECTION_KIND_FACTS] for d in digests}) == 1


async def test_b23_the_order_and_spelling_of_tools_change_no_byte(gateway: Gateway):
    tools = [
        (
            "refund",
            b'{"description": "Pays back.", "parameters": {"type": "object", "properties": {"b": {}, "a": {}}}}',
        ),
        ("lookup", b'{"parameters":{"properties":{"a":{},"b":{}},"type":"object"},"description":"Finds."}'),
        ("Close", b"{}"),
    ]
    names = set()
    for order in permutations(tools):
        request = prefix_pb2.RegisterPrefixRevisionRequest(
            tenant_id=TENANT, prefix_id="tools", text="You help."
        )
        for name, definition in order:
            request.tools.add(name=name, definition_json=definition)
        names.add((await gateway.call("RegisterPrefixRevision", request)).revision.name)
    swapped = prefix_pb2.RegisterPrefixRevisionRequest(tenant_id=TENANT, prefix_id="tools", text="You help.")
    for name, definition in tools:
        swapped.tools.add(
            name=name, definition_json=definition.replace(b'"b": {}, "a": {}', b'"a":{},"b":{}')
        )
    names.add((await gateway.call("RegisterPrefixRevision", swapped)).revision.name)
    assert len(names) == 1


@pytest.mark.usefixtures("server_zone")
async def test_p35_a_date_is_that_of_the_zone_asked_for_and_the_servers_has_no_say(
    gateway: Gateway, ada: Person
):
    gateway.now = datetime(2025, 7, 26, 12, tzinfo=UTC)
    await ada.state("note", "moves house", read=datetime(2025, 7, 25, 2, tzinfo=UTC))
    assert "read 1 day ago, 2025-07-25)" in facts(await ada.ask("What is new?"))
    assert "read 2 days ago, 2025-07-24)" in facts(
        await ada.ask("What is new?", time_zone="America/Los_Angeles")
    )


async def test_p37_words_like_yesterday_keep_the_date_of_their_message(gateway: Gateway, ada: Person):
    await ada.remember(
        "old", "Yesterday I went to the support group.", at=datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    )
    text = history(await ada.ask("When did I go to the support group?"))
    assert "2023-05-08" in text
    assert "Yesterday I went to the support group." in text
    assert "2023-05-07" not in text
    assert gateway.now.date().isoformat() not in text


@pytest.mark.parametrize(("zone", "said"), [("UTC", "1 day ago"), ("America/New_York", "today")])
async def test_p39_an_age_counts_the_midnights_of_the_callers_zone(
    gateway: Gateway, ada: Person, zone: str, said: str
):
    await ada.state(
        "note", "moves house", read=datetime(2026, 11, 29, 23, 59, tzinfo=UTC) - timedelta(days=1)
    )
    gateway.now = datetime(2026, 11, 29, 0, 1, tzinfo=UTC)
    assert f"read {said}, 2026-11-28)" in facts(await ada.ask("What is new?", time_zone=zone))


async def test_p41_an_expired_fact_is_absent_from_that_instant_on(gateway: Gateway, ada: Person):
    fact = (
        await ada.state("note", "moves house", expire_time=stamp(gateway.now + timedelta(seconds=1)))
    ).fact
    gateway.passes(milliseconds=999)
    assert "moves house" in facts(await ada.ask("What is new?"))
    gateway.passes(milliseconds=1)
    answer = await ada.ask("What is new?")
    assert facts(answer) == ""
    assert (await ada.fates(answer))[f"fact/{fact.name.rpartition('/')[2]}"] == "EXPIRED"


async def test_p41_expired_slots_are_a_new_session(gateway: Gateway, ada: Person):
    await use_policy(gateway, DESK.replace("slots:", "slots:\n  ttl: 60s"))
    await ada.ask("First question?")
    gateway.passes(seconds=59)
    assert "First question?" in prompt_text(await ada.ask("Second?"))
    gateway.passes(seconds=60)
    assert "First question?" not in prompt_text(await ada.ask("Third?"))


async def test_ages_are_never_negative_where_a_callers_clock_runs_ahead(gateway: Gateway, ada: Person):
    """P39's kind: an instant after now is today."""
    await ada.state("note", "moves house", read=gateway.now + timedelta(minutes=4))
    gateway.passes(hours=-2)
    assert "read today, 2026-11-29)" in facts(await ada.ask("What is new?"))
