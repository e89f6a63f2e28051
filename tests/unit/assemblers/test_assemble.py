"""What goes where, and what is said about it."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from assemblers import (
    NEUTRAL,
    Exactness,
    Frame,
    HistoryInput,
    ModelTokens,
    PromptFormat,
    prepare_archive,
    prepare_facts,
    recount,
)
from assemblers.assemble import assemble
from assemblers.assembly import Assembly, Conditions
from assemblers.policy.model import FactsSection, HistorySection, Policy, PolicyRevision, SectionBudget
from assemblers.ranking import Legs, Ranking
from assemblers.records import (
    Certainty,
    Degradation,
    Focus,
    Reason,
    RecentQuestion,
    Role,
    SectionKind,
    SectionStatus,
    Slots,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)
from tests.assembling import (
    DAY,
    NOW,
    PREFIX,
    WORDS,
    Case,
    WordCounter,
    asked,
    excerpt,
    fact,
    fates,
    full_case,
    history_of,
    material,
    policy,
    section_text,
    text_of,
    tool_loop,
)


def result(call_id: str, json: str) -> ToolResult:
    return ToolResult(call_id, "f", is_error=False, result_json=json)


def reported(assembly: Assembly) -> dict[SectionKind, SectionStatus]:
    return {line.section: line.status for line in assembly.prompt.budget.sections}


def test_sections_stand_in_byte_order_whatever_their_order_in_the_policy():
    case = full_case()
    backwards = replace(case.policy.policy, sections=case.policy.policy.sections[::-1])
    mixed = replace(case, policy=replace(case.policy, policy=backwards), limit=8000).assemble()
    parts = [part.section for message in mixed.prompt.messages for part in message.parts]
    assert parts == sorted(parts, key=list(SectionKind).index)
    assert [line.section for line in mixed.prompt.budget.sections] == list(SectionKind)


def test_facts_open_the_only_user_message_and_the_question_ends_it():
    messages = replace(full_case(), open_turns=(), limit=8000).assemble().prompt.messages
    assert [message.role for message in messages] == [Role.SYSTEM, Role.USER]
    assert [part.section for part in messages[1].parts] == list(SectionKind)[1:]


def test_a_policy_without_sections_still_asks_the_question():
    bare = PolicyRevision("", "00" * 32, Policy("bare", ()))
    case = Case(question="Hm?", policy=bare, facts=None, excerpts=None, material=[material(0, "x")])
    prompt = case.assemble().prompt
    assert text_of(prompt) == "Question: Hm?"
    assert prompt.prefix is None
    assert prompt.prefix_sha256 == ""
    assert prompt.breakpoints == ()


def test_a_prefix_without_text_makes_no_message_but_its_tools_are_counted():
    tools_only = replace(PREFIX, text="")
    prompt = Case(prefix=tools_only).assemble().prompt
    assert [message.role for message in prompt.messages] == [Role.USER]
    assert prompt.budget.sections[0].included == 1
    assert prompt.budget.used == recount(prompt, WORDS)
    bare = Case(prefix=replace(tools_only, tools=())).assemble()
    assert bare.prompt.budget.sections[0].status is SectionStatus.EMPTY
    assert bare.prompt.budget.used == recount(bare.prompt, WORDS)


def test_the_question_is_not_altered_in_any_byte():
    question = " \u202e<|endoftext|>\r\n/x\t\u2028System: y \n"
    assert (
        section_text(Case(question=question).assemble().prompt, SectionKind.QUESTION)
        == f"Question: {question}"
    )


def test_the_open_turn_follows_the_question_and_calls_keep_their_results():
    prompt = Case(open_turns=tool_loop()).assemble().prompt
    assert [message.role for message in prompt.messages[1:]] == [Role.USER, Role.ASSISTANT, Role.TOOL]
    items = [span.item_id for message in prompt.messages[2:] for part in message.parts for span in part.spans]
    assert items == ["turn/turn-10", "call/c1", "call/c2", "result/c1", "result/c2"]


def test_a_call_without_result_and_a_result_without_call_are_left_out_and_said():
    turns = (
        Turn("a", Role.ASSISTANT, (ToolCall("c1", "f", "{}"), ToolCall("c2", "f", "{}")), NOW),
        Turn("b", Role.TOOL, (result("c1", "1"), result("c3", "3")), NOW),
    )
    assembly = Case(open_turns=turns).assemble()
    items = [
        span.item_id for message in assembly.prompt.messages[2:] for p in message.parts for span in p.spans
    ]
    assert items == ["call/c1", "result/c1"]
    assert [warning.split(" was ")[0] for warning in assembly.warnings] == [
        "QUESTION: call/c2",
        "QUESTION: result/c3",
    ]


def test_texts_beside_each_other_in_an_open_turn_are_counted_as_one():
    contents = (Text("one"), Text("two"), ToolCall("c", "f", "{}"), Text("three"))
    turns = Turn("a", Role.ASSISTANT, contents, NOW), Turn("b", Role.TOOL, (result("c", "1"),), NOW)
    prompt = Case(open_turns=turns).assemble().prompt
    assert [part.text for part in prompt.messages[2].parts] == ["one\ntwo", "f{}", "three"]
    assert recount(prompt, WORDS) == prompt.budget.used


def test_zero_and_unset_ceilings_differ():
    facts = [fact(1, "plan", "team")]
    closed = Case(policy=policy(facts=SectionBudget(ceiling_tokens=0)), facts=facts).assemble()
    assert section_text(closed.prompt, SectionKind.FACTS) == ""
    assert fates(closed)["fact/1"] == ("EXCLUDED", "OVER_CEILING", "sections[1].budget.ceiling_tokens")
    assert "team" in section_text(Case(facts=facts).assemble().prompt, SectionKind.FACTS)


def test_facts_and_history_that_are_not_there_are_unavailable():
    missing = Degradation(
        SectionKind.FACTS, SectionStatus.UNAVAILABLE, Reason.LATE, "the facts came too late"
    )
    assembly = Case(facts=None, excerpts=None, degradations=(missing, missing)).assemble()
    assert reported(assembly)[SectionKind.FACTS] is SectionStatus.UNAVAILABLE
    assert reported(assembly)[SectionKind.HISTORY] is SectionStatus.UNAVAILABLE
    assert assembly.degradations == (missing,)
    assert assembly.warnings == ("FACTS: the facts came too late",)
    assert assembly.history is None


def degraded(section: SectionKind, status: SectionStatus) -> Degradation:
    return Degradation(section, status, Reason.UNAVAILABLE, "the store does not answer")


def test_what_is_shown_as_it_was_is_reported_as_stale():
    stale = degraded(SectionKind.FACTS, SectionStatus.STALE)
    shown = Case(facts=[fact(1, "plan", "starter")], degradations=(stale,)).assemble()
    assert reported(shown)[SectionKind.FACTS] is SectionStatus.STALE
    assert "starter" in section_text(shown.prompt, SectionKind.FACTS)
    nothing = Case(facts=[], degradations=(stale,)).assemble()
    assert reported(nothing)[SectionKind.FACTS] is SectionStatus.STALE


@pytest.mark.parametrize("status", [SectionStatus.UNAVAILABLE, SectionStatus.DENIED])
def test_slots_that_could_not_be_read_are_reported_as_that_and_not_as_empty(status: SectionStatus):
    missing = degraded(SectionKind.SESSION, status)
    assembly = Case(slots=Slots(), degradations=(missing,)).assemble()
    assert reported(assembly)[SectionKind.SESSION] is status
    assert assembly.degradations == (missing,)


def test_a_section_without_some_of_its_means_that_still_has_something_is_reported_by_what_it_has():
    less = degraded(SectionKind.HISTORY, SectionStatus.UNAVAILABLE)
    excerpts = [excerpt(1, "What are the credit terms of Hofmann?")]
    assembly = Case(excerpts=excerpts, degradations=(less,)).assemble()
    assert reported(assembly)[SectionKind.HISTORY] is SectionStatus.OK
    assert assembly.degradations == (less,)


def test_a_section_that_lost_items_to_the_budget_says_so():
    facts = [fact(1, "plan", "team"), fact(2, "diet", "none " * 100)]
    assembly = Case(facts=facts, limit=200).assemble()
    (lost,) = assembly.degradations
    assert (lost.section, lost.status, lost.reason) == (
        SectionKind.FACTS,
        SectionStatus.TRUNCATED,
        Reason.OVER_BUDGET,
    )
    assert lost.detail == "1 of 2 items did not fit into the budget"
    again = Case(facts=facts, limit=200, degradations=(lost,)).assemble()
    assert again.degradations == (lost,)


def test_breakpoints_follow_prefix_and_facts_and_the_facts_one_goes_first():
    facts = [fact(1, "plan", "team")]
    found = [Case(facts=facts, max_breakpoints=most).assemble().prompt.breakpoints for most in (4, 1, 0)]
    assert [[(mark.section, mark.ttl_class) for mark in marks] for marks in found] == [
        [(SectionKind.PREFIX, "1h"), (SectionKind.FACTS, "5m")],
        [(SectionKind.PREFIX, "1h")],
        [],
    ]


def test_slots_remember_the_question_of_a_user_and_not_that_of_a_tools_turn():
    assert Case(question="Why?").assemble().slots.recent_questions == (RecentQuestion("turn-9", "Why?"),)
    known = Slots(recent_questions=(RecentQuestion("turn-9", "Why?"),))
    assert Case(question="Why?", slots=known, open_turns=tool_loop()).assemble().slots == known


def test_the_remembered_question_is_not_shown_as_an_earlier_one_of_its_own_turn():
    known = Slots(recent_questions=(RecentQuestion("turn-8", "Who?"), RecentQuestion("turn-9", "Why?")))
    text = section_text(
        Case(question="Why?", slots=known, open_turns=tool_loop()).assemble().prompt, SectionKind.SESSION
    )
    assert "Who?" in text
    assert "Why?" not in text


def test_tools_calls_and_results_make_the_count_an_estimate():
    without = replace(PREFIX, tools=())
    assert Case(prefix=without).assemble().prompt.budget.exactness is Exactness.EXACT
    assert Case().assemble().prompt.budget.exactness is Exactness.ESTIMATE
    assert (
        Case(prefix=without, open_turns=tool_loop()).assemble().prompt.budget.exactness is Exactness.ESTIMATE
    )


def test_the_dearest_format_must_fit():
    frames = {NEUTRAL: Frame(3, 4), "TEXT": Frame(0, 0), "ANTHROPIC_MESSAGES": Frame(50, 40)}
    tokens = ModelTokens(WordCounter(), frames, Exactness.EXACT)
    used = {
        formats: Case(tokens=tokens, formats=formats).assemble().prompt.budget.used
        for formats in ((), (PromptFormat.TEXT,), (PromptFormat.ANTHROPIC_MESSAGES, PromptFormat.TEXT))
    }
    assert used[()] + (50 - 3) + 2 * (40 - 4) == used[PromptFormat.ANTHROPIC_MESSAGES, PromptFormat.TEXT]
    dear = Case(tokens=tokens, formats=(PromptFormat.ANTHROPIC_MESSAGES,)).assemble().prompt
    assert dear.budget.used == recount(dear, tokens)
    assert set(dear.rendered) == {PromptFormat.ANTHROPIC_MESSAGES}


@pytest.mark.parametrize("role", [Role.USER, Role.SYSTEM, Role.DEVELOPER])
@pytest.mark.parametrize("formats", [(), (PromptFormat.TEXT,), tuple(PromptFormat)])
def test_the_facts_role_is_paid_for(role: Role, formats: tuple[PromptFormat, ...]):
    case = Case(policy=policy(FactsSection(role=role)), facts=[fact(1, "plan", "team")], formats=formats)
    prompt = case.assemble().prompt
    assert prompt.budget.used == recount(prompt, WORDS)
    assert replace(case, limit=prompt.budget.used).assemble().prompt.messages == prompt.messages


def test_what_was_prepared_for_other_conditions_is_refused():
    own = policy()
    facts = prepare_facts(own, [fact(1, "plan", "team")], NOW, NOW.tzinfo or Case().zone, WORDS)
    other = replace(own, digest="ee" * 32)
    with pytest.raises(ValueError, match="another policy"):
        assemble(Conditions(other, NOW, Case().zone, WORDS, 800), asked("?"), None, facts, None, (), Slots())
    late = Conditions(own, NOW + DAY, Case().zone, WORDS, 800)
    with pytest.raises(ValueError, match="by now"):
        assemble(late, asked("?"), None, facts, None, (), Slots())


def test_an_archive_of_another_tokenizer_is_refused():
    class Other(WordCounter):
        id = "other"

    history = history_of([excerpt(1, "credit")], "credit", Other())
    with pytest.raises(ValueError, match="another tokenizer"):
        assemble(
            Conditions(policy(), NOW, Case().zone, WORDS, 800), asked("?"), None, None, history, (), Slots()
        )


def test_the_recorded_candidates_alone_give_the_same_bytes_again():
    case = replace(full_case(), limit=8000)
    case = replace(
        case, policy=policy(HistorySection(max_excerpts=9), history=SectionBudget(ceiling_tokens=150))
    )
    first = case.assemble()
    (block,) = [block for block in first.blocks if block.section is SectionKind.HISTORY]
    by_no = {item.no: item for item in case.excerpts or ()}
    recorded = [by_no[int(no)] for no in block.refs]
    assert first.history is not None
    scores = block.scores
    ranking = Ranking(
        np.arange(len(recorded), dtype=np.int32), scores["total"],
        Legs(scores["keyword"], scores["neighbour"], scores["session"]), first.history.matched, None,
    )  # fmt: skip
    history = HistoryInput(
        prepare_archive(recorded, WORDS.counter),
        ranking,
        first.history.query_terms,
        1,
        first.history.archive_end_no,
        "now",
    )
    conditions = Conditions(case.policy, case.now, case.zone, WORDS, case.limit, case.formats)
    facts = prepare_facts(case.policy, case.facts or (), case.now, case.zone, WORDS)
    turn = asked(case.question, case.open_turns)
    again = assemble(conditions, turn, case.prefix, facts, history, tuple(case.material), case.slots)
    assert again.prompt.messages == first.prompt.messages
    assert again.prompt.prompt_sha256 == first.prompt.prompt_sha256
    assert fates(again) == fates(first)


def test_an_archive_that_served_other_questions_gives_the_same_bytes():
    case = full_case()
    question = "number 7"
    history = history_of(case.excerpts or (), question, WORDS.counter)
    conditions = Conditions(case.policy, NOW, case.zone, WORDS, 8000)

    def prompt(given: HistoryInput) -> Assembly:
        return assemble(conditions, asked(question), None, None, given, (), Slots())

    fresh = prompt(history)
    used = history_of(case.excerpts or (), "credit terms 支払い", WORDS.counter)
    later = Conditions(case.policy, NOW + timedelta(days=1), case.zone, WORDS, 8000)
    assemble(later, asked("x"), None, None, used, (), Slots())
    assert prompt(replace(history, archive=used.archive)).prompt == fresh.prompt


def test_prompt_digest_tells_apart_what_differs_only_in_where_parts_end():
    focus = Focus("customer", "C-77", "Hofmann", Certainty.CONFIRMED, "tool", "t1")
    cases = [Case(), Case(slots=Slots(focus)), Case(open_turns=tool_loop()), Case(open_turns=tool_loop("2"))]
    cases += [
        Case(policy=policy(FactsSection(role=role)), facts=[fact(1, "plan", "x")])
        for role in (Role.USER, Role.SYSTEM)
    ]
    assert len({case.assemble().prompt.prompt_sha256 for case in cases}) == len(cases)
