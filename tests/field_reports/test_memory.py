"""Faults that users of comparable software reported: facts, history, isolation and storage.

Rows that are held elsewhere: P3, S21 for every store storage/conformance/isolation.py; P45, P47 of the store
storage/conformance/facts.py and facts_retired.py; P57's receipts storage/conformance/receipts.py; P63, S45 with more
syntax tests/unit/gateway/servicers/test_history.py; P81's NUL in every field and S5
tests/integration/test_fields_texts.py; S9 tests/unit/gateway/servicers/test_fact.py; S39's depth
tests/unit/gateway/server/test_validation.py; P71 in the large storage/conformance/archives.py.
"""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf import any_pb2, struct_pb2
from structlog.testing import capture_logs

from muniment.v1 import (
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_service_pb2,
    prefix_pb2,
    prompt_pb2,
    session_pb2,
    trace_pb2,
    types_pb2,
)
from tests.integration.in_process import Gateway, gateway_at
from tests.integration.requests import DESK, FACT, TENANT, context_request
from tests.integration.talk import (
    Person,
    called,
    facts,
    history,
    prompt_text,
    returned,
    said,
    slots,
    use_policy,
)


async def test_p1_ids_are_no_patterns(gateway: Gateway):
    people = [
        Person(gateway, user_id) for user_id in ("john-doe", "john_doe", "john.doe", "johnXdoe", "JOHN_DOE")
    ]
    for person in people:
        await person.state("note", f"belongs to {person.user_id}")
        await person.remember("old", f"The grinder of {person.user_id} jams.")
    for person in people:
        text = prompt_text(await person.ask("What about the grinder?"))
        shown = {other.user_id for other in people if f"belongs to {other.user_id}" in text}
        found = {other.user_id for other in people if f"grinder of {other.user_id} jams" in text}
        assert shown == found == {person.user_id}
    refused = await gateway.refusal(
        "AssembleContext", Person(gateway, "%").request("What about the grinder?")
    )
    assert refused.code == "INVALID_ARGUMENT"


async def test_p3_s21_every_read_gives_the_own_canary_only(gateway: Gateway):
    people = [Person(gateway, "u1"), Person(gateway, "u2"), Person(gateway, "u1", "other")]
    await gateway.call(
        "RegisterPrefixRevision",
        prefix_pb2.RegisterPrefixRevisionRequest(tenant_id="other", prefix_id="desk", text="Other."),
    )
    await use_policy(gateway, tenant_id="other")
    canaries = ["canaryone", "canarytwo", "canarythree"]
    for person, canary in zip(people, canaries, strict=True):
        await person.state("note", f"{canary} fact")
        await person.remember("old", f"{canary} excerpt about grinders")
        await person.ask(f"{canary} first question about grinders")
    for person, canary in zip(people, canaries, strict=True):
        answers = [
            await person.ask("And grinders?"),
            await gateway.call("ListFacts", fact_pb2.ListFactsRequest(user=person.user)),
            await gateway.call(
                "SearchHistory",
                history_pb2.SearchHistoryRequest(user=person.user, query="grinders"),
            ),
            await gateway.call("GetSession", session_pb2.GetSessionRequest(session=person.session())),
        ]
        traces = (
            await gateway.call(
                "ListTraces", trace_pb2.ListTracesRequest(tenant_id=person.tenant_id, user_id=person.user_id)
            )
        ).traces
        answers += [await gateway.call("GetTrace", trace_pb2.GetTraceRequest(name=t.name)) for t in traces]
        told = "".join(str(answer) for answer in answers)
        assert len(traces) == 2
        assert [c for c in canaries if c in told] == [canary]
        assert all(canary in str(answer) for answer in answers[:4])


async def test_p13_reading_creates_nothing(gateway: Gateway, ada: Person, tmp_path: Path):
    await ada.ask("Hello?")
    before = rows(tmp_path)
    stranger = Person(gateway, "stranger")
    dry = context_pb2.ExplainContextRequest(request=stranger.request("Anything about me?"))
    assert facts(await gateway.call("ExplainContext", dry)) == ""
    await stranger.ask("Anything about me?", validate_only=True)
    await gateway.call("ListFacts", fact_pb2.ListFactsRequest(user=stranger.user))
    await gateway.call("SearchHistory", history_pb2.SearchHistoryRequest(user=stranger.user, query="me"))
    await gateway.call("GetSession", session_pb2.GetSessionRequest(session=stranger.session("never")))
    await gateway.call("ListTraces", trace_pb2.ListTracesRequest(tenant_id=TENANT, user_id="stranger"))
    await gateway.call(
        "ListAppearances", trace_pb2.ListAppearancesRequest(user=stranger.user, item_id="fact/1")
    )
    assert rows(tmp_path) == before


def rows(data_dir: Path) -> dict[str, int]:
    """How many rows each table has."""
    (file,) = (path for path in data_dir.rglob("*") if path.suffix in {".db", ".sqlite", ".sqlite3"})
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        counts = {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}
    connection.close()
    return counts


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


async def test_s25_a_request_without_an_id_is_refused_and_finds_no_other_session(
    gateway: Gateway, ada: Person
):
    await ada.ask("Hello?")
    for clear in ("tenant_id", "user_id"):
        request = context_request()
        request.session.ClearField(clear)
        refused = await gateway.refusal("AssembleContext", request)
        assert refused.violations.keys() == {f"session.{clear}"}
    nameless = session_pb2.GetSessionRequest(session=types_pb2.SessionRef(tenant_id=TENANT, user_id="ada"))
    assert (await gateway.refusal("GetSession", nameless)).code == "INVALID_ARGUMENT"


async def test_s31_ids_differ_by_case_and_trailing_marks(gateway: Gateway):
    people = [
        Person(gateway, user_id)
        for user_id in (
            "alice",
            "Alice",
            "ALICE",
            "alice.",
            "alice/",
            "a/lice",
            "alice=",
        )
    ]
    for number, person in enumerate(people):
        await person.state("note", f"mark{number}")
    for number, person in enumerate(people):
        shown = facts(await person.ask("Who?"))
        assert [n for n in range(len(people)) if f"mark{n}" in shown] == [number]


async def test_s35_deep_messages_are_refused_and_the_runtime_is_the_safe_one(gateway: Gateway):
    value = struct_pb2.Value(string_value="x")
    for _ in range(45):
        value = struct_pb2.Value(list_value=struct_pb2.ListValue(values=[value]))
    packed = any_pb2.Any()
    packed.Pack(value)
    body = context_request().SerializeToString()
    # As an unknown field: kept by no one, and not followed down.
    unknown = b"\xfa\x7f" + bytes([0x80 | (packed.ByteSize() & 0x7F), packed.ByteSize() >> 7])
    assert await gateway.raw("AssembleContext", body + unknown + packed.SerializeToString())
    groups = b"\xfb\x7f" * 200 + b"\xfc\x7f" * 200
    assert (await gateway.refusal("AssembleContext", body + groups)).reason == "MALFORMED_REQUEST"


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "tenants/acme/policies/../../x", "tenants/acme/prefixes/%2e%2e%2fx/revisions/y"],
)
@pytest.mark.parametrize("method", ["GetPolicy", "GetPrefixRevision", "GetTrace", "GetFact"])
async def test_s41_names_are_no_paths(gateway: Gateway, method: str, name: str):
    types = {
        "GetPolicy": policy_service_pb2.GetPolicyRequest,
        "GetPrefixRevision": prefix_pb2.GetPrefixRevisionRequest,
        "GetTrace": trace_pb2.GetTraceRequest,
        "GetFact": fact_pb2.GetFactRequest,
    }
    refused = await gateway.refusal(method, types[method](name=name))
    assert refused.code == "INVALID_ARGUMENT"
    assert refused.violations.keys() == {"name"}


@pytest.mark.parametrize("name", ["..", ".", "a/../b", "-", "con"])
async def test_s41_an_id_that_looks_like_a_path_is_an_id(gateway: Gateway, name: str):
    yaml = DESK.replace("policy_id: desk", f"policy_id: '{name}'")
    await use_policy(gateway, yaml)
    assert (await Person(gateway).ask("Hello?")).policy_revision.startswith(f"tenants/{TENANT}/policies/")


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


async def test_everything_recorded_is_there_after_a_restart(tmp_path: Path):
    """P67 across two processes in a row: what was acknowledged is read by the next."""
    async with gateway_at(tmp_path / "again") as first:
        await first.use_desk()
        ada = Person(first)
        await ada.state("note", "moves house")
        await ada.remember("old", "The grinder jams.")
        answer = await ada.ask("What about the grinder?")
    async with gateway_at(tmp_path / "again") as second:
        again = replace(ada, gateway=second)
        assert await again.replays(answer)
        following = await again.ask("And the grinder?")
        assert "moves house" in facts(following)
        assert "The grinder jams." in history(following)
        assert (await second.call("GetFact", fact_pb2.GetFactRequest(name=FACT))).fact.text == "moves house"
