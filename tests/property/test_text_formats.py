"""Whatever is said: every rendering is well formed, loses nothing visible, and finds every part again."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assemblers.assembly import Breakpoint, Message, Part, PromptFormat
from assemblers.formats import FORMATS
from assemblers.records import Content, Role, SectionKind, Text, ToolCall, ToolResult

said = st.text(max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | said,
    lambda inner: st.dictionaries(said, inner, max_size=2),
    max_leaves=4,
).map(lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")))
arguments = st.dictionaries(said, st.integers() | said, max_size=2).map(json.dumps)


def part(content: Content) -> Part:
    return Part(SectionKind.QUESTION, content, content.text if isinstance(content, Text) else "", (), 0)


def spoken(role: Role) -> st.SearchStrategy[tuple[Message, ...]]:
    return st.lists(said.map(Text), min_size=1, max_size=3).map(
        lambda t: (Message(role, tuple(map(part, t))),)
    )


@st.composite
def loops(draw: st.DrawFn) -> tuple[Message, ...]:
    names = draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3, unique=True))
    calls = [part(ToolCall(name, "look", draw(arguments))) for name in names]
    results = [
        part(ToolResult(name, "look", draw(st.booleans()), draw(values)))
        for name in draw(st.permutations(names))
    ]
    text = [part(Text(draw(said)))]
    return Message(Role.ASSISTANT, (*text, *calls)), Message(Role.TOOL, (*results, *text))


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    head = draw(st.lists(spoken(Role.SYSTEM) | spoken(Role.DEVELOPER), max_size=2))
    question = (Message(Role.USER, (part(Text("Question: " + draw(said))),)),)
    anyone = st.one_of(loops(), *(spoken(role) for role in Role if role is not Role.TOOL))
    rest = draw(st.lists(anyone, max_size=4))
    return (
        *(message for turn in head for message in turn),
        *question,
        *(message for turn in rest for message in turn),
    )


marks = st.lists(
    st.builds(
        Breakpoint,
        st.integers(0, 6),
        st.integers(0, 3),
        st.just(SectionKind.FACTS),
        st.sampled_from(["5m", "1h"]),
    )
)


def at(document: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def visible(messages: tuple[Message, ...]) -> list[tuple[int, int]]:
    return [
        (number, index)
        for number, message in enumerate(messages)
        for index, item in enumerate(message.parts)
        if not isinstance(item.content, Text) or item.content.text.strip()
    ]


@given(conversations(), marks, st.sampled_from(PromptFormat))
def test_every_visible_part_is_found_again(
    messages: tuple[Message, ...], points: list[Breakpoint], chosen: PromptFormat
):
    rendered = FORMATS[chosen].render(messages, None, points)
    assert sorted((p.message, p.index) for p in rendered.parts if p.message is not None) == visible(messages)
    body = None if chosen is PromptFormat.TEXT else json.loads(rendered.body)
    for place in rendered.parts:
        assert place.message is not None
        content = messages[place.message].parts[place.index].content
        whole = rendered.body if body is None else at(body, place.pointer)
        if isinstance(content, Text):
            assert (whole if isinstance(whole, bytes) else whole.encode())[place.offset :].startswith(
                content.text.encode()
            )
        elif isinstance(whole, dict):
            assert content.call_id in whole.values()
        else:
            assert whole[place.offset :].startswith(b"look")


@given(conversations(), marks)
def test_anthropic_turns_alternate_with_results_first_and_few_marks(
    messages: tuple[Message, ...], points: list[Breakpoint]
):
    body = json.loads(FORMATS[PromptFormat.ANTHROPIC_MESSAGES].render(messages, None, points).body)
    turns = body["messages"]
    assert [turn["role"] for turn in turns] == [("user", "assistant")[i % 2] for i in range(len(turns))]
    for turn in turns:
        results = [block["type"] == "tool_result" for block in turn["content"]]
        assert results == sorted(results, reverse=True)
    blocks = [*body.get("system", []), *(block for turn in turns for block in turn["content"])]
    assert all(block["type"] != "text" or block["text"].strip() for block in blocks)
    ttls = [block["cache_control"]["ttl"] for block in blocks if "cache_control" in block]
    assert len(ttls) <= 4
    assert ttls == sorted(ttls)  # "1h" before "5m"


@given(conversations())
def test_openai_answers_every_call_right_behind_it(messages: tuple[Message, ...]):
    sent = json.loads(FORMATS[PromptFormat.OPENAI_CHAT].render(messages, None).body)["messages"]
    waiting: set[str] = set()
    for message in sent:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting
        assert message["content"] is None or message["content"].strip()
        waiting = {call["id"] for call in message.get("tool_calls", [])}
    assert len(sent) == FORMATS[PromptFormat.OPENAI_CHAT].sent_messages(messages)
