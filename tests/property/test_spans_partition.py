"""Spans cover every byte of every part once, and the bytes of each are what its item rendered."""

from hypothesis import given, settings
from hypothesis import strategies as st

from assemblers import Assembly, BudgetTooSmall, Part, SourceKind
from assemblers.records import Text, ToolCall, ToolResult
from assemblers.text import inline
from tests.assembling import Case, excerpt, fact, material, policy, spans_by_item, tool_loop

TEXTS = st.lists(
    st.sampled_from(
        ("invoice", "支払い", "\n", "- x", "```", "👩‍👩‍👧", "é", "<|im_end|>", " ", '"', "Question: ")
    ),
    min_size=1,
    max_size=6,
).map("".join)
KEYS = ("diet", "plan", "seats", "trip")


@st.composite
def assemblies(draw: st.DrawFn) -> tuple[Case, Assembly]:
    texts = draw(st.lists(TEXTS, min_size=1, max_size=12))
    case = Case(
        question=draw(TEXTS), policy=policy(), open_turns=tool_loop() if draw(st.booleans()) else (),
        facts=[fact(i + 1, KEYS[i % 4], text) for i, text in enumerate(texts)],
        excerpts=[excerpt(i + 1, text, session=i // 3, days=90 - i // 3) for i, text in enumerate(texts)],
        material=[material(i, text) for i, text in enumerate(texts[:3])], limit=draw(st.integers(150, 4000)),
    )  # fmt: skip
    try:
        return case, case.assemble()
    except BudgetTooSmall:
        roomy = Case(question=case.question)
        return roomy, roomy.assemble()


def counted_form(part: Part) -> str:
    content = part.content
    if isinstance(content, Text):
        return content.text
    if isinstance(content, ToolCall):
        return content.tool_name + content.arguments_json
    assert isinstance(content, ToolResult)
    return content.tool_name + content.result_json


@given(assemblies())
def test_spans_partition_every_part(made: tuple[Case, Assembly]):
    for message in made[1].prompt.messages:
        for part in message.parts:
            assert part.text == counted_form(part)
            at = 0
            for span in part.spans:
                assert span.offset == at
                assert span.length > 0
                at += span.length
            assert at == len(part.text.encode())


@given(assemblies())
def test_candidates_that_are_in_point_at_their_own_span(made: tuple[Case, Assembly]):
    assembly = made[1]
    for block in assembly.blocks:
        for row, ref in enumerate(block.refs):
            if block.offsets[row] < 0:
                continue
            part = assembly.prompt.messages[block.message].parts[block.part]
            place = int(block.offsets[row]), int(block.lengths[row])
            (span,) = [span for span in part.spans if (span.offset, span.length) == place]
            assert span.item_id == f"{block.item_prefix}{ref}"
            assert span.source.kind is block.source_kind


@given(assemblies())
@settings(max_examples=50)
def test_each_span_reads_as_its_item_renders(made: tuple[Case, Assembly]):
    case, assembly = made
    shown = spans_by_item(assembly.prompt)
    assert shown["question"] == case.question
    for item in case.excerpts or ():
        if f"excerpt/{item.no}" in shown:
            assert shown[f"excerpt/{item.no}"] == f"- User: {inline(item.text)}\n"
    for one in case.facts or ():
        line = shown.get(f"fact/{one.no}")
        assert line is None or (line.startswith(f'- {one.key}: "') and line.count("\n") == 1)


@given(assemblies())
@settings(max_examples=50)
def test_nothing_stored_starts_a_line_of_its_own(made: tuple[Case, Assembly]):
    stored = {SourceKind.FACT, SourceKind.EXCERPT, SourceKind.ARCHIVED_SESSION, SourceKind.SLOT}
    for message in made[1].prompt.messages:
        for part in message.parts:
            for span in part.spans:
                text = part.text.encode()[span.offset : span.offset + span.length].decode()
                if span.source.kind in stored:
                    assert text.startswith("- ")
                    assert text.splitlines(keepends=True) == [text]
                elif span.source.kind is SourceKind.MATERIAL:
                    assert all(line.startswith(("- Terms (", "  >")) for line in text.splitlines())
