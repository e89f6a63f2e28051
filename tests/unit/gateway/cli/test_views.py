"""How answers look: the prompt by its items, the budget with its reasons, errors where they stand."""

import io

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import status_pb2
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from gateway.cli.exits import ExitCode, exit_code
from gateway.cli.show.budget import budget_view
from gateway.cli.show.explanations import replay_view, why_not_view, why_view
from gateway.cli.show.problems import Source, diagnostic_lines, problem_lines
from gateway.cli.show.prompt import PromptView, label_of, lines_of
from gateway.cli.show.tables import matches_view
from gateway.client import CallError
from muniment.v1 import errors_pb2, history_pb2, prompt_pb2, trace_pb2, types_pb2

PART = prompt_pb2.Part(
    section=types_pb2.SECTION_KIND_FACTS,
    content=types_pb2.Content(text="What we know.\n- plan: team\n"),
    spans=[
        types_pb2.Span(offset=0, length=14, item_id="policy/facts.heading"),
        types_pb2.Span(offset=14, length=13, item_id="fact/3"),
    ],
    token_count=9,
)


def shown(*views: RenderableType, width: int = 80, colour: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, color_system="standard" if colour else None
    )
    for view in views:
        console.print(view)
    return out.getvalue()


def prompt(*parts: prompt_pb2.Part) -> prompt_pb2.Prompt:
    return prompt_pb2.Prompt(messages=[prompt_pb2.Message(role=types_pb2.ROLE_USER, parts=parts)])


def test_each_line_of_a_prompt_stands_beside_its_item():
    lines = shown(PromptView(prompt(PART))).splitlines()
    assert any(
        line.split("│")[0].strip() == "policy/facts.heading" and "What we know." in line for line in lines
    )
    assert any(line.split("│")[0].strip() == "fact/3" and "- plan: team" in line for line in lines)


def test_a_section_has_its_colour_on_a_terminal_and_none_elsewhere():
    assert "\x1b[32m- plan: team" in shown(PromptView(prompt(PART)), colour=True)
    assert "\x1b" not in shown(PromptView(prompt(PART)))


def test_a_search_says_by_what_it_searched_and_what_it_had_to_do_without():
    result = history_pb2.SearchHistoryResponse(matched_count=3, query_terms=["bill"])
    assert "3 excerpts have any of: bill\n" in shown(matches_view(result))
    result.embedder = "words@1"
    assert "3 excerpts are like it, or have any of: bill (words@1)" in shown(matches_view(result))
    late = prompt_pb2.Degradation(detail="keyword_only: the embedder did not answer in time")
    late_result = history_pb2.SearchHistoryResponse(matched_count=3, degradations=[late])
    assert "without vectors: keyword_only: the embedder did not answer in time" in shown(
        matches_view(late_result)
    )


def test_a_line_of_two_items_names_both():
    part = prompt_pb2.Part(
        section=types_pb2.SECTION_KIND_QUESTION,
        content=types_pb2.Content(text="Question: why?"),
        spans=[
            types_pb2.Span(offset=0, length=10, item_id="policy/question.label"),
            types_pb2.Span(offset=10, length=4, item_id="question"),
        ],
    )
    assert "label + question │ Question: why?" in shown(PromptView(prompt(part)))


def test_content_is_never_markup_and_cannot_act_on_the_terminal():
    part = prompt_pb2.Part(content=types_pb2.Content(text="[red]x[/red] \x1b[2J :smile:"))
    part.spans.add(offset=0, length=len(part.content.text), item_id="question")
    assert "[red]x[/red] \\u{1b}[2J :smile:" in shown(PromptView(prompt(part)))


def test_a_prompt_fits_a_narrow_terminal():
    assert all(len(line) <= 60 for line in shown(PromptView(prompt(PART)), width=60).splitlines())


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=6))
def test_the_lines_of_a_part_hold_all_its_text(texts: list[str]):
    data, spans = b"", []
    for number, text in enumerate(texts):
        encoded = text.encode()
        spans.append(types_pb2.Span(offset=len(data), length=len(encoded), item_id=f"item/{number}"))
        data += encoded
    lines = ["".join(run.text for run in line) for line in lines_of(data, spans)]
    assert "\n".join(lines) == data.decode().removesuffix("\n")


def test_the_budget_says_what_was_cut_and_which_field_decided():
    section = prompt_pb2.SectionReport(
        section=types_pb2.SECTION_KIND_HISTORY,
        status=types_pb2.SECTION_STATUS_TRUNCATED,
        ceiling=260,
        used=250,
        included=9,
        dropped=2,
    )
    report = prompt_pb2.BudgetReport(
        limit=1600, used=1000, exactness=types_pb2.EXACTNESS_EXACT, tokenizer="o200k_base", sections=[section]
    )
    cut = trace_pb2.Candidate(
        section=types_pb2.SECTION_KIND_HISTORY,
        outcome=trace_pb2.OUTCOME_EXCLUDED,
        reason=prompt_pb2.REASON_OVER_CEILING,
        policy_field="sections[2].budget.ceiling_tokens",
    )
    text = shown(budget_view(report, [cut, cut]))
    assert "2 over ceiling" in text
    assert "sections[2].budget.ceiling_tokens" in text
    assert "1000 of 1600 tokens used · exact, counted with o200k_base" in text


def test_why_shows_the_steps_in_order():
    answer = trace_pb2.ExplainItemResponse(
        candidate=trace_pb2.Candidate(item_id="fact/3", reason=prompt_pb2.REASON_WITHIN_BUDGET),
        text="- plan: team\n",
        steps=[
            trace_pb2.DescentStep(
                kind=trace_pb2.DescentStep.KIND_OBSERVED, description="read at crm", actor="sync"
            ),
            trace_pb2.DescentStep(kind=trace_pb2.DescentStep.KIND_SELECTED, description="included"),
        ],
    )
    text = shown(why_view(answer))
    assert text.index("read at crm · sync") < text.index("included", text.index("selected"))


def test_why_names_a_source_once():
    step = trace_pb2.DescentStep(
        kind=trace_pb2.DescentStep.KIND_OBSERVED,
        description="read at support session",
        actor="support session",
    )
    answer = trace_pb2.ExplainItemResponse(candidate=trace_pb2.Candidate(item_id="fact/3"), steps=[step])
    assert shown(why_view(answer)).count("support session") == 1


def test_why_not_shows_the_remedy():
    explanation = trace_pb2.AbsenceExplanation(
        finding=trace_pb2.AbsenceExplanation.FINDING_EXCLUDED,
        item_id="fact/2",
        reason=prompt_pb2.REASON_SUPERSEDED,
        remedy="record a newer reading",
    )
    text = shown(why_not_view(trace_pb2.ExplainAbsenceResponse(explanations=[explanation])))
    assert "fact/2  considered and left out: superseded" in text
    assert "→ record a newer reading" in text
    assert "nothing of the kind" in shown(why_not_view(trace_pb2.ExplainAbsenceResponse()))


@pytest.mark.parametrize(("identical", "word"), [(True, "identical"), (False, "different")])
def test_a_replay_says_whether_the_bytes_are_the_same(identical: bool, word: str):
    assert shown(replay_view(trace_pb2.ReplayTraceResponse(identical=identical))).startswith(word)


DIAGNOSTIC = errors_pb2.Diagnostic(
    severity=errors_pb2.Diagnostic.SEVERITY_ERROR,
    rule_id="yaml.enum",
    field="facts.allowlist[0].kind",
    message="'ATRIBUTE' is not one of the values",
    suggestion="did you mean ATTRIBUTE?",
    line=2,
    column=3,
)


def test_a_diagnostic_points_at_its_place():
    source = Source("support.yaml", "first: 1\n☕ kind: ATRIBUTE\n")
    title, line, caret, suggestion = (text.plain for text in diagnostic_lines([DIAGNOSTIC], source))
    assert title.startswith("support.yaml:2:3: error: facts.allowlist[0].kind: 'ATRIBUTE'")
    assert line == "    ☕ kind: ATRIBUTE"
    # The cup is two columns wide.
    assert caret == "    " + " " * 3 + "^"
    assert suggestion == "    → did you mean ATTRIBUTE?"


def test_a_long_line_is_shown_around_its_column():
    found = errors_pb2.Diagnostic(line=1, column=301, message="no")
    _, line, caret = (
        text.plain for text in diagnostic_lines([found], Source("x", "a" * 300 + "B" + "c" * 300))
    )
    assert line[caret.index("^")] == "B"


def test_an_error_lists_fields_needs_and_when_to_try_again():
    needs = errors_pb2.BudgetNeeds(limit_tokens=10, needed_tokens=30)
    needs.needs.add(section=types_pb2.SECTION_KIND_PREFIX, tokens=30, what="tool definitions")
    detail = AnyMessage()
    detail.Pack(needs)
    status = status_pb2.Status(code=9, message="too small: raise it", details=[detail])
    error = CallError(grpc.StatusCode.FAILED_PRECONDITION, "too small: raise it", status)
    lines = [line.plain for line in problem_lines(error)]
    assert lines[0] == "error: too small: raise it"
    assert "30 tokens  prefix: tool definitions" in lines[1]
    assert "30 tokens  needed of 10" in lines[2]


@pytest.mark.parametrize("status", grpc.StatusCode)
def test_every_failure_has_an_exit_code_that_is_not_zero(status: grpc.StatusCode):
    assert exit_code(status.name) is not ExitCode.OK


@pytest.mark.parametrize(
    ("item_id", "label"),
    [
        ("archived-session/kiel-opening", "session/kiel-opening"),
        ("archived-session/2026-08-26-the-credit-note", "session/…6-the-credit-note"),
        ("fact/3", "fact/3"),
        ("slot/question/a-very-long-name-of-a-turn", "slot/question/a-…of-a-turn"),
    ],
)
def test_the_left_column_tells_items_apart(item_id: str, label: str):
    assert label_of(item_id, 26) == label
