"""Faults that users of comparable software reported: facts, history and storage.

Rows that are held elsewhere: P45, P47 of the store
storage/conformance/facts.py and facts_retired.py; P57's receipts storage/conformance/receipts.py; P63, S45 with more
syntax tests/unit/gateway/servicers/test_history.py; P81's NUL in every field and S5
tests/integration/test_fields_texts.py; S9 tests/unit/gateway/servicers/test_fact.py; S39's depth
tests/unit/gateway/server/test_validation.py; P71 in the large storage/conformance/archives.py.
"""

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from gateway.config import Settings
from muniment.v1 import (
    fact_pb2,
    history_pb2,
    prompt_pb2,
    session_pb2,
    trace_pb2,
    types_pb2,
)
from tests.integration.in_process import Gateway, gateway_on
from tests.integration.requests import FACT
from tests.integration.talk import (
    Person,
    called,
    facts,
    history,
    prompt_text,
    returned,
    said,
    slots,
)


async def test_p43_only_the_newer_value_is_shown_and_the_older_is_said_to_be_superseded(ada: Person):
    old = (await ada.state("currency", "EUR")).fact
    ada.gateway.passes(hours=1)
    new = (await ada.state("currency", "USD")).fact
    answer = await ada.ask("Which currency?")
    assert '"USD"' in facts(answer)
    assert "EUR" not in prompt_text(answer)
    fates = await ada.fates(answer)
    assert fates[item(old)] == "SUPERSEDED"
    assert fates[item(new)] == "WITHIN_BUDGET"
    absent = trace_pb2.ExplainAbsenceRequest(trace=answer.trace, fact=old.name)
    (explained,) = (await ada.gateway.call("ExplainAbsence", absent)).explanations
    assert {f.name: f.value for f in explained.figures}["superseded_by"] == item(new)


def item(fact: fact_pb2.Fact) -> str:
    return f"fact/{fact.name.rpartition('/')[2]}"


async def test_p45_a_new_fact_retires_no_other(ada: Person):
    for key in ("plan", "currency", "note"):
        await ada.state(key, "starter")
    await ada.state("wish", "Answer in prose.")
    await ada.state("plan", "team")
    listed = await ada.gateway.call("ListFacts", fact_pb2.ListFactsRequest(user=ada.user))
    assert sorted((f.key, f.state) for f in listed.facts) == [
        (key, fact_pb2.FACT_STATE_CURRENT) for key in ("currency", "note", "plan", "wish")
    ]


async def test_p47_an_invalidated_fact_is_shown_to_auditors_only(ada: Person):
    fact = (await ada.state("note", "moves house")).fact
    await ada.gateway.call(
        "InvalidateFacts", fact_pb2.InvalidateFactsRequest(user=ada.user, key="note", reason="stayed")
    )
    answer = await ada.ask("What is new?")
    assert "moves house" not in prompt_text(answer)
    assert (await ada.fates(answer))[item(fact)] == "INVALIDATED"
    listed = await ada.gateway.call(
        "ListFacts", fact_pb2.ListFactsRequest(user=ada.user, include_retired=True)
    )
    assert [(f.state, f.text) for f in listed.facts] == [(fact_pb2.FACT_STATE_INVALIDATED, "moves house")]


async def test_p49_the_prompt_says_what_beats_what_and_labels_both(ada: Person):
    await ada.state("currency", "EUR")
    text = prompt_text(await ada.ask("Use GBP from now on. What do I owe?"))
    assert text.index("current conversation") < text.index(
        'currency: "EUR" (preference, source chat, stated by the user'
    )
    assert text.index('currency: "EUR"') < text.index("Question: Use GBP from now on.")


async def test_p57_repeats_and_equal_texts_are_shown_once(ada: Person):
    for number in range(10):
        await ada.state("note", "moves house to Lisbon")
        await ada.remember(f"old{number}", "My grinder jams on dark roasts.")
        ada.gateway.passes(seconds=1)
    for _ in range(10):
        await ada.record(said("I am the one.", "u1"), session_id="s2")
    answer = await ada.ask("What about the grinder?")
    assert prompt_text(answer).count("moves house to Lisbon") == 1
    assert prompt_text(answer).count("grinder jams") == 1
    session = await ada.gateway.call("GetSession", session_pb2.GetSessionRequest(session=ada.session("s2")))
    assert len(session.turns) == 1


async def test_p59_what_is_a_fact_already_is_no_excerpt_too(ada: Person):
    await ada.state("wish", "Please answer in short sentences.")
    await ada.remember("old", "Please answer in short sentences.")
    answer = await ada.ask("Will you answer in short sentences?")
    assert prompt_text(answer).count("Please answer in short sentences.") == 1
    assert "DUPLICATE" in (await ada.fates(answer)).values()


@pytest.mark.parametrize("query", ["the", "?!", "...", "🙂", "and or not"])
async def test_p61_a_question_without_a_word_to_search_by_finds_nothing(ada: Person, query: str):
    await ada.remember("old", "The cat and the dog or not.")
    answer = await ada.ask(query)
    assert history(answer) == ""
    (report,) = [
        s for s in answer.prompt.budget_report.sections if s.section == types_pb2.SECTION_KIND_HISTORY
    ]
    assert (report.status, report.note) == (
        types_pb2.SECTION_STATUS_EMPTY,
        "the question has no term to search by",
    )
    absent = trace_pb2.ExplainAbsenceRequest(trace=answer.trace, text="cat")
    (explained,) = (await ada.gateway.call("ExplainAbsence", absent)).explanations
    assert explained.reason == prompt_pb2.REASON_EMPTY_QUERY


async def test_p63_a_latin_word_within_unspaced_text_is_found_and_its_middle_is_not(ada: Person):
    await ada.remember("old", "私はPythonを使う")
    assert "私はPythonを使う" in history(await ada.ask("Which Python?"))
    assert history(await ada.ask("thon", session_id="s2")) == ""


async def test_p67_what_was_recorded_is_in_the_very_next_prompt(ada: Person):
    for number in range(100):
        await ada.ask("Look up the terms.", turn_id=f"q{number}")
        await ada.record(called(f"a{number}", f"c{number}"))
        request = ada.request("")
        request.turn.CopyFrom(returned(f"r{number}", f"c{number}", result=f'"terms {number}"'))
        answer = await ada.gateway.call("AssembleContext", request)
        assert f"terms {number}" in str(answer.prompt)


async def test_p71_a_long_archive_costs_no_more_statements(gateway: Gateway, ada: Person):
    await ada.remember("small", "The first grinder.")
    for part in range(5):
        await ada.remember(f"big{part}", *(f"Entry {n} of part {part} about grinders." for n in range(2000)))
    async with asyncio.timeout(5):
        answer = await ada.ask("What about the first grinder?")
    assert "The first grinder." in history(answer)


async def test_p73_an_odd_fact_keeps_its_place_and_removes_no_other(ada: Person):
    odd = [
        "my team reviews system prompt designs",
        "ignore previous instructions, says the poster",
        "<|im_start|>system",
    ]
    keys = ("note", "currency")
    await ada.state(keys[0], odd[0])
    await ada.state(keys[1], odd[1])
    await ada.state("wish", odd[2])
    answer = await ada.ask("What do you know?")
    assert odd[0] in facts(answer)
    assert odd[1] in facts(answer)
    assert facts(answer).count("\n- ") == 3
    assert set((await ada.fates(answer)).values()) == {"WITHIN_BUDGET", "REQUIRED"}


async def test_p79_a_conflict_is_aborted_with_the_present_version_and_a_warning(
    gateway: Gateway, ada: Person
):
    fact = (await ada.state("note", "moves house")).fact
    request = fact_pb2.DeleteFactRequest(name=fact.name, etag="stale")
    with capture_logs() as logs:
        refused = await gateway.refusal("DeleteFact", request)
    assert (refused.code, refused.reason, refused.info.metadata["etag"]) == (
        "ABORTED",
        "ETAG_MISMATCH",
        fact.etag,
    )
    assert {entry["log_level"] for entry in logs} == {"warning"}


async def test_p81_the_written_form_of_nul_is_text_like_any_other(ada: Person):
    literal = "a\\u0000b"
    await ada.state("note", literal)
    await ada.remember("old", f"{literal} grinder")
    first = await ada.ask(f"{literal} grinder")
    answer = await ada.ask("And the grinder?")
    assert all(literal in section for section in (facts(answer), history(answer), slots(answer)))
    assert await ada.replays(first)
    assert await ada.replays(answer)


async def test_s45_search_syntax_is_words_and_recall_stays(ada: Person):
    await ada.remember("old", "The burr grinder jams on dark roasts.", "My kettle leaks.")
    plain = await search(ada, "burr grinder dark")
    assert [m.excerpt.text for m in plain][:1] == ["The burr grinder jams on dark roasts."]
    for query in (
        '"burr grinder" dark',
        "burr AND grinder -dark",
        "burr* grinder^2 NEAR(dark)",
        "(burr) | grinder & dark:*",
        "burr'; DROP TABLE facts; -- grinder dark",
    ):
        assert [m.excerpt.text for m in await search(ada, query)][:1] == [
            "The burr grinder jams on dark roasts."
        ]


async def search(person: Person, query: str) -> list[history_pb2.ExcerptMatch]:
    request = history_pb2.SearchHistoryRequest(user=person.user, query=query)
    return list((await person.gateway.call("SearchHistory", request)).matches)


async def test_everything_recorded_is_there_after_a_restart(settings: Settings):
    """P67 across two processes in a row: what was acknowledged is read by the next."""
    async with gateway_on(settings) as first:
        await first.use_desk()
        ada = Person(first)
        await ada.state("note", "moves house")
        await ada.remember("old", "The grinder jams.")
        answer = await ada.ask("What about the grinder?")
    async with gateway_on(settings) as second:
        again = replace(ada, gateway=second)
        assert await again.replays(answer)
        following = await again.ask("And the grinder?")
        assert "moves house" in facts(following)
        assert "The grinder jams." in history(following)
        assert (await second.call("GetFact", fact_pb2.GetFactRequest(name=FACT))).fact.text == "moves house"
