"""Answers written as bytes are those of the messages, field for field and byte for byte."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers import Assembly, BudgetTooSmall
from assemblers.assembly import PromptFormat
from assemblers.records import (
    Certainty,
    Degradation,
    Filter,
    Focus,
    Reason,
    RecentQuestion,
    SectionKind,
    SectionStatus,
    SessionRef,
    Slots,
)
from gateway.convert import wire
from gateway.convert.answers import AnswerEncoder, EarlyPrompt, answer_to
from gateway.convert.instants import instant_to
from gateway.names import trace_name
from gateway.usecases.work import Answer
from muniment.v1 import types_pb2
from tests.assembling import (
    PREFIX,
    WORDS,
    Case,
    WordCounter,
    excerpt,
    fact,
    full_case,
    material,
    policy,
    tool_loop,
)

TEXTS = st.lists(
    st.sampled_from(("invoice", "支払い", "\n", "👩‍👩‍👧", "é", "<|im_end|>", "word " * 40)),
    min_size=1,
    max_size=6,
).map("".join)
TENANT = "acme/eu"
ENCODER = AnswerEncoder()
"""One for all examples, so that what it keeps from earlier ones is tried as well."""


def told(assembly: Assembly) -> Answer:
    return Answer(SessionRef(TENANT, "u@example", "s"), "policies/conversation", "a" * 32, assembly)


def plainly(answer: Answer) -> bytes:
    message = answer_to(answer)
    message.trace = trace_name(TENANT, answer.trace_id)
    return message.SerializeToString()


@st.composite
def slots(draw: st.DrawFn) -> Slots:
    certainty = draw(st.sampled_from(Certainty))
    return Slots(
        draw(st.none() | st.just(Focus("customer", "C-7", "Hofmann", certainty, "tool/crm", "t1"))),
        (Filter("region", "EMEA", certainty, "caller", ""),) if draw(st.booleans()) else (),
        draw(st.sampled_from(("", "table"))),
        tuple(RecentQuestion(f"t{i}", text) for i, text in enumerate(draw(st.lists(TEXTS, max_size=3)))),
    )


@st.composite
def assemblies(draw: st.DrawFn) -> Assembly:
    texts = draw(st.lists(TEXTS, min_size=1, max_size=8))
    missing = Degradation(SectionKind.FACTS, SectionStatus.UNAVAILABLE, Reason.LATE, "the store was late")
    case = Case(
        question=draw(TEXTS), policy=policy(), slots=draw(slots()), limit=draw(st.integers(150, 6000)),
        open_turns=tool_loop() if draw(st.booleans()) else (),
        facts=[fact(i + 1, ("diet", "plan", "seats", "trip")[i % 4], text) for i, text in enumerate(texts)],
        excerpts=[excerpt(i + 1, text, session=i // 3, days=90 - i // 3) for i, text in enumerate(texts)],
        material=[material(i, text) for i, text in enumerate(texts[:2])],
        prefix=PREFIX if draw(st.booleans()) else None,
        formats=tuple(draw(st.sets(st.sampled_from(PromptFormat)))),
        degradations=(missing,) if draw(st.booleans()) else (),
    )  # fmt: skip
    try:
        return case.assemble()
    except BudgetTooSmall:
        return Case(question=case.question).assemble()


@given(assemblies())
def test_the_bytes_of_an_answer_are_those_of_its_message(assembly: Assembly):
    answer = told(assembly)
    assert ENCODER.encode(answer) == plainly(answer)
    assert ENCODER.encode(answer) == plainly(answer)


@given(assemblies(), assemblies(), slots())
def test_a_prompt_encoded_early_serves_the_answer_whatever_is_said_of_it_later_and_no_other(
    assembly: Assembly, other: Assembly, later: Slots
):
    early = EarlyPrompt(ENCODER)
    early.prepare(told(assembly))
    changed = told(replace(assembly, slots=later, warnings=(*assembly.warnings, "slots_not_saved")))
    for answer in (told(assembly), changed, told(other)):
        assert early.encode(answer) == plainly(answer)


def test_an_answer_with_every_section_in_a_tool_loop_is_the_same_as_its_message():
    answer = told(full_case().assemble())
    assert ENCODER.encode(answer) == plainly(answer)


class OtherCounter(WordCounter):
    """Another vocabulary, with shorter tokens."""

    id = "half-words"

    def count(self, text: str) -> int:
        return 2 * super().count(text)


def test_tools_have_the_tokens_of_the_vocabulary_that_counted_them():
    for counter in (WordCounter(), OtherCounter()):
        answer = told(Case(tokens=replace(WORDS, counter=counter)).assemble())
        assert ENCODER.encode(answer) == plainly(answer)


@given(st.datetimes())
def test_an_instant_is_encoded_as_its_message(moment: datetime):
    aware = moment.replace(tzinfo=UTC)
    assert wire.instant(aware) == instant_to(aware).SerializeToString()


@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**31 - 1), st.text(max_size=300))
def test_fields_are_encoded_as_in_a_message(offset: int, length: int, item: str):
    span = types_pb2.Span(offset=offset, length=length, item_id=item)
    written = wire.integer(wire.key(types_pb2.Span, "offset"), offset)
    written += wire.integer(wire.key(types_pb2.Span, "length"), length)
    written += wire.text(wire.key(types_pb2.Span, "item_id"), item)
    assert written == span.SerializeToString()


def test_a_field_that_is_not_there_has_no_key():
    with pytest.raises(KeyError):
        wire.key(types_pb2.Span, "colour")
