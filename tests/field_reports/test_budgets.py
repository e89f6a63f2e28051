"""Faults that users of comparable software reported: budgets, truncation and tokens. A test bears the id of its row.

Rows that are held elsewhere: P19, B13 (a call keeps its results) tests/unit/assemblers/test_assemble.py; B1 with the
core's sweep of all budgets and P25's promise for any input tests/property/test_budget_promise.py; B31 for each
vocabulary tests/unit/gateway/tokenizers/test_counting.py; B33 at every offset tests/unit/assemblers/text.
"""

import json
import time
import unicodedata

import pytest
import regex

from gateway.tokenizers import TokenizerRegistry
from muniment.v1 import context_pb2, prefix_pb2, types_pb2
from tests.integration.in_process import Gateway
from tests.integration.requests import DESK, MODEL, TENANT
from tests.integration.talk import (
    Person,
    called,
    facts,
    history,
    prompt_text,
    returned,
    slots,
    use_policy,
)

CLUSTER = "👩‍👩‍👧é漢"


def recount(answer: context_pb2.AssembleContextResponse) -> int:
    """The prompt's tokens without frames and tools, counted whole."""
    counter = TokenizerRegistry().counter(answer.prompt.budget_report.tokenizer)
    return sum(counter.count("".join(p.content.text for p in m.parts)) for m in answer.prompt.messages)


async def test_p15_the_prefix_stays_whole_in_every_answer_of_a_long_session(gateway: Gateway, ada: Person):
    seen = set()
    for number in range(500):
        answer = await ada.ask(f"Question number {number} about the {number % 7}th invoice?", limit=90)
        assert answer.prompt.budget_report.used <= 90
        seen.add((answer.prompt.prefix_sha256, answer.prompt.messages[0].parts[0].content.text))
    assert len(seen) == 1
    assert seen.pop()[1] == "You help."


async def test_p17_a_prefix_over_the_limit_is_told_with_section_need_and_limit(gateway: Gateway, ada: Person):
    await gateway.call(
        "RegisterPrefixRevision",
        prefix_pb2.RegisterPrefixRevisionRequest(tenant_id=TENANT, prefix_id="desk", text="Be kind. " * 400),
    )
    refused = await gateway.refusal("AssembleContext", ada.request("Hello?", limit=300))
    assert (refused.code, refused.reason) == ("FAILED_PRECONDITION", "BUDGET_TOO_SMALL")
    needs = refused.budget_needs
    prefix = next(n for n in needs.needs if n.section == types_pb2.SECTION_KIND_PREFIX)
    assert needs.limit_tokens == 300 < prefix.tokens
    assert sum(n.tokens for n in needs.needs) == needs.needed_tokens
    answer = await ada.ask("Hello?", limit=needs.needed_tokens)
    assert answer.prompt.budget_report.used == needs.needed_tokens


@pytest.mark.parametrize("text", ["x" * (1 << 20), "word " * 200_000, "漢" * 340_000, " " * 1_000_000])
async def test_p25_a_message_of_a_mebibyte_is_refused_and_the_server_goes_on(ada: Person, text: str):
    refused = await ada.gateway.refusal("AssembleContext", ada.request(text))
    assert refused.code in {"RESOURCE_EXHAUSTED", "INVALID_ARGUMENT"}
    assert (await ada.ask("Still there?")).prompt.messages


async def test_p31_what_overflows_is_never_the_correction(gateway: Gateway, ada: Person):
    keys = "\n".join(f"    - {{key: k{i:03}, type: TEXT, kind: CONTEXT, purpose: p}}" for i in range(299))
    await use_policy(gateway, DESK.replace("  allowlist:", f"  allowlist:\n{keys}"))
    for i in range(299):
        await ada.state(f"k{i:03}", f"value {i}")
    gateway.passes(minutes=1)
    await ada.state("k000", "the corrected value")
    answer = await ada.ask("What holds?", limit=2800)
    report = next(
        s for s in answer.prompt.budget_report.sections if s.section == types_pb2.SECTION_KIND_FACTS
    )
    assert 50 < report.included < 200
    assert "the corrected value" in facts(answer)
    assert '"value 0"' not in facts(answer)


async def test_p33_the_earlier_questions_are_the_newest_three_in_order(ada: Person):
    answers = [await ada.ask(f"Question {number}?") for number in range(10)]
    told = regex.findall(r'Earlier question: "(.*?)"', slots(answers[-1]))
    assert told == ["Question 6?", "Question 7?", "Question 8?"]


async def test_b1_a_budget_below_the_question_is_an_error_and_never_an_empty_prompt(ada: Person):
    need = (await ada.ask("Where is my order of yesterday?", limit=8000)).prompt
    for limit in range(70):
        request = ada.request("Where is my order of yesterday?", session_id=f"b{limit}", limit=limit)
        code = await ada.gateway.code("AssembleContext", request)
        assert code in {"OK", "FAILED_PRECONDITION"}
        if code == "OK":
            answer = await ada.gateway.call("AssembleContext", request)
            assert answer.prompt.budget_report.used <= limit
            assert "Where is my order of yesterday?" in prompt_text(answer)
    assert need.budget_report.used < 70


async def test_b3_the_first_excerpt_is_held_to_the_budget_too(gateway: Gateway, ada: Person):
    await use_policy(gateway, DESK.replace("on_end_session: true", "excerpt_characters: 8000"))
    await ada.remember("old", "grinder " * 1000)
    answer = await ada.ask("What about the grinder?", limit=200)
    report = next(
        s for s in answer.prompt.budget_report.sections if s.section == types_pb2.SECTION_KIND_HISTORY
    )
    assert answer.prompt.budget_report.used <= 200
    assert (report.included, report.dropped) == (0, 1)
    assert report.status == types_pb2.SECTION_STATUS_SKIPPED_BUDGET
    assert any(d.section == types_pb2.SECTION_KIND_HISTORY for d in answer.degradations)


async def test_b9_the_arguments_of_calls_are_counted(ada: Person):
    arguments = json.dumps({"text": "lorem ipsum " * 3250})
    await ada.ask("Look it up.")
    await ada.record(called("a1", "c1", arguments=arguments))
    request = ada.request("")
    request.turn.CopyFrom(returned("r1", "c1"))
    request.budget.max_input_tokens = 6_000
    assert (await ada.gateway.refusal("AssembleContext", request)).reason == "BUDGET_TOO_SMALL"
    request.budget.max_input_tokens = 60_000
    assert (await ada.gateway.call("AssembleContext", request)).prompt.budget_report.used > 6_000


@pytest.mark.parametrize("own", range(5))
async def test_b17_marks_of_the_caller_and_ours_are_four_at_most(ada: Person, own: int):
    await ada.state("note", "moves house")
    answer = await ada.ask(
        "Hello?", caller_breakpoints=own, model=types_pb2.ModelProfile(provider="anthropic", model="claude-sonnet-5"),
        formats=[types_pb2.PROMPT_FORMAT_ANTHROPIC_MESSAGES],
    )  # fmt: skip
    marks = answer.prompt.rendered[0].body.count(b'"cache_control"')
    assert marks + own <= 4
    assert len(answer.prompt.breakpoints) == min(2, 4 - own) == marks


@pytest.mark.parametrize(
    "text", ["漢字仮名交じり文" * 60, "9f86d081884c7d65" * 60, "👩‍👩‍👧" * 60, "ខ្មែរ" * 60]
)
async def test_b27_dense_and_unspaced_text_is_counted_and_not_estimated(
    gateway: Gateway, ada: Person, text: str
):
    # With tools, whose encoding no provider documents, every count is an estimate.
    await use_policy(gateway, DESK.replace("prefix_id: desk", "prefix_id: none"))
    await ada.remember("old", text)
    answer = await ada.ask(text)
    assert answer.prompt.budget_report.exactness == types_pb2.EXACTNESS_EXACT
    frames = answer.prompt.budget_report.used - recount(answer)
    assert 0 < frames < 30


@pytest.mark.parametrize("unit", [" ", "a", "😀"])
async def test_b31_runs_of_a_million_end_in_bounded_time_and_a_typed_error(ada: Person, unit: str):
    started = time.monotonic()
    asked = await ada.gateway.refusal("AssembleContext", ada.request(unit * 1_000_000))
    told = (
        await ada.gateway.refusal(
            "CountTokens",
            context_pb2.CountTokensRequest(tenant_id=TENANT, model=MODEL, texts=[unit * 250_000] * 4),
        )
        if unit == "😀"
        else asked
    )
    assert {asked.code, told.code} <= {"INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"}
    assert (await ada.ask("a" + unit * 16_000, limit=100_000)).prompt.budget_report.used > 0
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("shift", range(12))
async def test_b33_p29_no_cut_falls_inside_a_character(gateway: Gateway, ada: Person, shift: int):
    await use_policy(
        gateway,
        DESK.replace("on_end_session: true", "on_end_session: true, excerpt_characters: 100").replace(
            "session: {}", "session: {max_question_characters: 20}"
        ),
    )
    text = "x" * shift + CLUSTER * 100
    await ada.remember("old", text)
    await ada.ask(text)
    answer = await ada.ask("漢")
    shown = [line[4:].partition(": ")[2] or line for line in history(answer).splitlines()]
    quoted = regex.findall(r'Earlier question: "(.*?)"', slots(answer))
    assert quoted
    assert shown
    for piece in (*shown, *quoted):
        assert "\ufffd" not in piece
        assert unicodedata.is_normalized("NFC", piece)
    whole = {"👩‍👩‍👧", "é", "漢", "x", "…"}
    assert {g for piece in quoted for g in regex.findall(r"\X", piece)} <= whole


async def test_b35_a_budget_of_zero_is_a_budget(ada: Person):
    assert (
        await ada.gateway.refusal("AssembleContext", ada.request("Hi?", limit=0))
    ).reason == "BUDGET_TOO_SMALL"
    assert (await ada.ask("Hi?")).prompt.budget_report.limit == 8000
    window = types_pb2.ModelProfile(provider="openai", model="gpt-4o", context_window_tokens=0)
    refused = await ada.gateway.refusal("AssembleContext", ada.request("Hi?", model=window))
    assert refused.reason == "BUDGET_TOO_SMALL"
