"""Each format: its bytes, the places of parts in them, and the rules that providers refuse a request for."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from assemblers.assembly import Breakpoint, Message, Part, PromptFormat, Rendered
from assemblers.formats import FORMATS, UnrenderablePromptError
from assemblers.records import (
    Content,
    PrefixRevision,
    Role,
    SectionKind,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
)

TEXT, OPENAI, ANTHROPIC = PromptFormat.TEXT, PromptFormat.OPENAI_CHAT, PromptFormat.ANTHROPIC_MESSAGES
LOOKUP = (
    '{"description":"Finds <an invoice>",'
    '"parameters":{"properties":{"id":{"maximum":1e+21,"type":"string"}},"type":"object"}}'
)
PREFIX = PrefixRevision(
    "t",
    "p",
    "0" * 64,
    "You help.\n",
    (ToolDefinition("lookup", LOOKUP), ToolDefinition("zoo", '{"description":"Z"}')),
    datetime(2026, 1, 1, tzinfo=UTC),
)


def part(content: Content | str, section: SectionKind = SectionKind.QUESTION) -> Part:
    content = Text(content) if isinstance(content, str) else content
    if isinstance(content, Text):
        text = content.text
    elif isinstance(content, ToolCall):
        text = content.tool_name + content.arguments_json
    else:
        text = content.tool_name + content.result_json
    return Part(section, content, text, (), 0)


def message(role: Role, *contents: Content | str) -> Message:
    return Message(role, tuple(part(content) for content in contents))


def call(call_id: str, arguments: str = '{"id":"INV-7"}') -> ToolCall:
    return ToolCall(call_id, "lookup", arguments)


def result(call_id: str, value: str = '{"state":"paid"}', is_error: bool = False) -> ToolResult:
    return ToolResult(call_id, "lookup", is_error, value)


CONVERSATION = (
    message(Role.SYSTEM, "You help.\n"),
    message(Role.USER, "Facts\n- größe: 3\n", "Session\n", "Question: what now? 👩‍🚀"),
    message(Role.ASSISTANT, "Looking.", call("c1"), call("c2")),
    message(Role.TOOL, result("c1"), result("c2", '"no such invoice"', is_error=True)),
)


def body(rendered: Rendered) -> Any:
    return json.loads(rendered.body)


def at(document: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


@pytest.mark.parametrize("chosen", list(PromptFormat))
def test_every_text_part_is_found_where_the_rendering_says(chosen):
    rendered = FORMATS[chosen].render(CONVERSATION, PREFIX)
    assert len(rendered.parts) == 9 + 2
    for place in rendered.parts:
        if place.message is None:
            continue
        own = CONVERSATION[place.message].parts[place.index]
        if chosen is TEXT:
            assert rendered.body[place.offset :].startswith(own.text.encode())
        elif isinstance(own.content, Text):
            found = at(body(rendered), place.pointer)
            assert found.encode()[place.offset :].startswith(own.text.encode())
        else:
            assert own.content.call_id in at(body(rendered), place.pointer).values()
            assert place.offset == 0


@pytest.mark.parametrize("chosen", list(PromptFormat))
def test_every_tool_is_found_where_the_rendering_says(chosen):
    rendered = FORMATS[chosen].render(CONVERSATION, PREFIX)
    tools = [place for place in rendered.parts if place.message is None]
    assert [place.index for place in tools] == [0, 1]
    if chosen is TEXT:
        assert rendered.body[tools[0].offset :].startswith(LOOKUP.encode())
    else:
        found = at(body(rendered), tools[0].pointer)
        assert found.get("function", found)["name"] == "lookup"


def test_text_has_a_label_line_for_each_message():
    rendered = FORMATS[TEXT].render(CONVERSATION, PREFIX)
    assert rendered.body.decode() == (
        f'Tools:\n- lookup{LOOKUP}\n- zoo{{"description":"Z"}}\n'
        "System:\nYou help.\n"
        "User:\nFacts\n- größe: 3\nSession\nQuestion: what now? 👩‍🚀\n"
        'Assistant:\nLooking.\n- call c1: lookup{"id":"INV-7"}\n- call c2: lookup{"id":"INV-7"}\n'
        'Tool:\n- result c1: lookup{"state":"paid"}\n- error c2: lookup"no such invoice"\n'
    )


def test_openai_chat_has_strings_calls_and_one_message_for_each_result():
    rendered = FORMATS[OPENAI].render(CONVERSATION, PREFIX)
    function = {"name": "lookup", "arguments": '{"id":"INV-7"}'}
    assert body(rendered)["messages"] == [
        {"role": "system", "content": "You help.\n"},
        {"role": "user", "content": "Facts\n- größe: 3\nSession\nQuestion: what now? 👩‍🚀"},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [{"id": name, "type": "function", "function": function} for name in ("c1", "c2")],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"state":"paid"}'},
        {"role": "tool", "tool_call_id": "c2", "content": '"no such invoice"'},
    ]
    assert body(rendered)["tools"][0] == {
        "type": "function",
        "function": {"name": "lookup", **json.loads(LOOKUP)},
    }


def test_openai_chat_says_null_where_an_assistant_only_calls():
    rendered = FORMATS[OPENAI].render((message(Role.USER, "q"), message(Role.ASSISTANT, call("c"))), None)
    assert body(rendered)["messages"][1]["content"] is None
    assert "tools" not in body(rendered)


def test_openai_chat_keeps_the_results_of_a_run_together():
    asked = (message(Role.USER, "q"), message(Role.ASSISTANT, call("c1"), call("c2")))
    answered = (message(Role.TOOL, result("c1"), "see below"), message(Role.TOOL, result("c2")))
    rendered = FORMATS[OPENAI].render(asked + answered, None)
    assert [m["role"] for m in body(rendered)["messages"]] == ["user", "assistant", "tool", "tool", "user"]
    assert body(rendered)["messages"][4]["content"] == "see below"
    assert rendered.notes == ("messages[2].parts[1]: a tool's text is sent as USER",)


def test_openai_chat_sends_a_tools_text_before_whoever_speaks_next():
    asked = (
        message(Role.USER, "q"),
        message(Role.ASSISTANT, call("c")),
        message(Role.TOOL, "note", result("c")),
    )
    sent = body(FORMATS[OPENAI].render((*asked, message(Role.ASSISTANT, "done")), None))["messages"]
    assert [m["content"] for m in sent[2:]] == ['{"state":"paid"}', "note", "done"]


def test_anthropic_has_system_blocks_and_alternating_turns_with_results_first():
    messages = (*CONVERSATION, message(Role.USER, "and?"))
    made = body(FORMATS[ANTHROPIC].render(messages, PREFIX))
    assert list(made) == ["tools", "system", "messages"]
    assert made["system"] == [{"type": "text", "text": "You help.\n"}]
    assert [turn["role"] for turn in made["messages"]] == ["user", "assistant", "user"]
    assert made["messages"][1]["content"][1] == {
        "type": "tool_use",
        "id": "c1",
        "name": "lookup",
        "input": {"id": "INV-7"},
    }
    assert made["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": '{"state":"paid"}'},
        {"type": "tool_result", "tool_use_id": "c2", "content": '"no such invoice"', "is_error": True},
        {"type": "text", "text": "and?"},
    ]
    assert made["tools"][0]["input_schema"] == json.loads(LOOKUP)["parameters"]
    assert made["tools"][1] == {
        "name": "zoo",
        "description": "Z",
        "input_schema": {"type": "object", "properties": {}},
    }


def test_anthropic_puts_results_before_a_tools_text():
    asked = (message(Role.USER, "q"), message(Role.ASSISTANT, call("c1"), call("c2")))
    answered = (message(Role.TOOL, "note", result("c1")), message(Role.TOOL, result("c2")))
    turn = body(FORMATS[ANTHROPIC].render(asked + answered, None))["messages"][2]
    assert [block["type"] for block in turn["content"]] == ["tool_result", "tool_result", "text"]


def test_anthropic_sends_a_late_system_message_as_the_users_and_says_so():
    rendered = FORMATS[ANTHROPIC].render((message(Role.USER, "facts"), message(Role.SYSTEM, "slots")), None)
    assert body(rendered) == {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "facts"}, {"type": "text", "text": "slots"}],
            }
        ]
    }
    assert rendered.notes == ("messages[1]: SYSTEM is sent as USER, behind the first user message",)


def marks(*places: tuple[int, int, str]) -> tuple[Breakpoint, ...]:
    return tuple(Breakpoint(number, index, SectionKind.FACTS, ttl) for number, index, ttl in places)


def ttls(made: Any) -> list[str]:
    blocks = [*made.get("tools", []), *made.get("system", [])]
    blocks += [block for turn in made["messages"] for block in turn["content"]]
    return [block["cache_control"]["ttl"] for block in blocks if "cache_control" in block]


def test_anthropic_marks_the_breakpoints():
    made = body(FORMATS[ANTHROPIC].render(CONVERSATION, PREFIX, marks((0, 0, "1h"), (1, 0, "5m"))))
    assert made["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert made["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "5m"}
    assert ttls(made) == ["1h", "5m"]


def test_anthropic_never_raises_a_ttl_and_marks_at_most_four_blocks():
    many = marks((0, 0, "5m"), (1, 0, "1h"), (1, 1, "1h"), (1, 2, "5m"), (2, 0, "5m"))
    assert ttls(body(FORMATS[ANTHROPIC].render(CONVERSATION, PREFIX, many))) == ["5m"] * 4


def test_anthropic_moves_a_mark_from_a_blank_part_to_what_is_before_it():
    messages = (message(Role.SYSTEM, " \n"), message(Role.USER, "facts\n", "\n", "q"))
    made = body(FORMATS[ANTHROPIC].render(messages, PREFIX, marks((0, 0, "1h"), (1, 1, "5m"))))
    assert "system" not in made
    assert made["tools"][1]["cache_control"]["ttl"] == "1h"
    assert made["messages"][0]["content"][0] == {
        "type": "text",
        "text": "facts\n",
        "cache_control": {"type": "ephemeral", "ttl": "5m"},
    }


def test_anthropic_drops_a_mark_that_has_nothing_before_it():
    messages = (message(Role.SYSTEM, ""), message(Role.USER, "q"))
    assert ttls(body(FORMATS[ANTHROPIC].render(messages, None, marks((0, 0, "1h"))))) == []


def test_anthropic_refuses_a_prompt_that_the_assistant_opens():
    with pytest.raises(UnrenderablePromptError, match=r"messages\[0\] is the assistant's"):
        FORMATS[ANTHROPIC].render((message(Role.ASSISTANT, "hello"),), None)


def test_anthropic_refuses_arguments_that_are_no_object():
    messages = (message(Role.USER, "q"), message(Role.ASSISTANT, call("c", "[1]")))
    with pytest.raises(UnrenderablePromptError, match=r"messages\[1\].parts\[0\]") as caught:
        FORMATS[ANTHROPIC].render(messages, None)
    assert caught.value.field == "messages[1].parts[0]"


@pytest.mark.parametrize("chosen", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ((message(Role.USER, "q"), message(Role.TOOL, result("c"))), "messages[1].parts[0]"),
        (
            (message(Role.USER, "q"), message(Role.ASSISTANT, "x", call("c")), message(Role.USER, "r")),
            "messages[1].parts[1]",
        ),
        (
            (
                message(Role.USER, "q"),
                message(Role.ASSISTANT, call("c")),
                message(Role.TOOL, result("c"), result("c")),
            ),
            "messages[2].parts[1]",
        ),
    ],
)
def test_a_call_and_its_result_go_together_or_not_at_all(chosen, messages, field):
    with pytest.raises(UnrenderablePromptError) as caught:
        FORMATS[chosen].render(messages, None)
    assert caught.value.field == field


@pytest.mark.parametrize("chosen", [OPENAI, ANTHROPIC])
def test_a_tool_definition_that_is_no_object_is_named(chosen):
    prefix = PrefixRevision(
        "t", "p", "1" * 64, "", (ToolDefinition("x", "[]"),), datetime(2026, 1, 1, tzinfo=UTC)
    )
    with pytest.raises(UnrenderablePromptError, match=r"tools\[0\].definition_json"):
        FORMATS[chosen].render((message(Role.USER, "q"),), prefix)


@pytest.mark.parametrize("chosen", list(PromptFormat))
def test_blank_parts_and_messages_are_not_sent(chosen):
    messages = (
        message(Role.SYSTEM, ""),
        message(Role.USER, " ", "q", "\n\t"),
        message(Role.ASSISTANT, "\u3000"),
    )
    rendered = FORMATS[chosen].render(messages, None)
    assert [(place.message, place.index) for place in rendered.parts] == [(1, 1)]
    assert FORMATS[chosen].sent_messages(messages) == 1


@pytest.mark.parametrize(("chosen", "count"), [(TEXT, 4), (OPENAI, 5), (ANTHROPIC, 4)])
def test_messages_are_counted_as_they_are_sent(chosen, count):
    assert FORMATS[chosen].sent_messages(CONVERSATION) == count
    if chosen is not TEXT:
        made = body(FORMATS[chosen].render(CONVERSATION, None))
        assert len(made["messages"]) + ("system" in made) == count


@pytest.mark.parametrize("chosen", [OPENAI, ANTHROPIC])
def test_numbers_and_texts_are_copied_digit_by_digit(chosen):
    messages = (
        message(Role.USER, 'a "b" \\ \n\x07 </s>é'),
        message(Role.ASSISTANT, call("c", '{"n":1e+21,"z":0.10}')),
    )
    sent = FORMATS[chosen].render(messages, PREFIX).body.decode()
    assert '"maximum":1e+21' in sent
    assert r"a \"b\" \\ \n\u0007 </s>é" in sent
    assert ('1e+21,\\"z\\":0.10' if chosen is OPENAI else '"input":{"n":1e+21,"z":0.10}') in sent


@pytest.mark.parametrize("chosen", list(PromptFormat))
def test_the_same_messages_give_the_same_bytes(chosen):
    first, second = (FORMATS[chosen].render(CONVERSATION, PREFIX, marks((1, 0, "5m"))) for _ in range(2))
    assert first == second


def test_every_format_that_can_be_asked_for_is_there():
    assert set(FORMATS) == set(PromptFormat)
