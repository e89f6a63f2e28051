"""The question, word for word behind its label, and in a tool loop the calls and results that followed it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assemblers.assembly import Message, Part, Source, SourceKind, Span, TurnInput
from assemblers.records import Content, SectionKind, Text, ToolCall, ToolResult, Turn
from assemblers.sections.pieces import byte_length, policy_text
from assemblers.tokens import TokenCounter, count_call, count_result


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """The messages of a tool loop. `orphans` are the items without their counterpart, which no provider accepts."""

    messages: tuple[Message, ...]
    orphans: tuple[str, ...]
    tokens: int
    """Of all parts, raw, without frames."""
    calls: int
    results: int


_LABEL = policy_text("question.label")

NO_OPEN_TURN = OpenTurn((), (), 0, 0, 0)


def question_part(turn: TurnInput, label: str, counter: TokenCounter) -> Part:
    """The label and the question, not altered in any byte. Both are one text to the counter."""
    text = label + turn.question
    at = byte_length(label)
    spans = [Span(0, at, "policy/question.label", _LABEL)]
    if turn.question:
        source = Source(SourceKind.TURN, turn.question_turn_id, turn.question_time)
        spans.append(Span(at, byte_length(turn.question), "question", source))
    return Part(SectionKind.QUESTION, Text(text), text, tuple(spans), counter.count(text))


def open_turn(turns: Sequence[Turn], counter: TokenCounter) -> OpenTurn:
    """One message for each turn since the question. A call stays with its results or both are left out."""
    if not turns:
        return NO_OPEN_TURN
    contents = [content for turn in turns for content in turn.contents]
    called = {content.call_id for content in contents if isinstance(content, ToolCall)}
    answered = {content.call_id for content in contents if isinstance(content, ToolResult)}
    paired = called & answered
    made = ((turn.role, tuple(_parts(turn, paired, counter))) for turn in turns)
    messages = tuple(Message(role, parts) for role, parts in made if parts)
    parts = [part for message in messages for part in message.parts]
    return OpenTurn(
        messages,
        (*_ids("call", called - paired), *_ids("result", answered - paired)),
        sum(part.tokens for part in parts),
        sum(isinstance(part.content, ToolCall) for part in parts),
        sum(isinstance(part.content, ToolResult) for part in parts),
    )


def _ids(kind: str, call_ids: set[str]) -> list[str]:
    return [f"{kind}/{call_id}" for call_id in sorted(call_ids)]


def _parts(turn: Turn, paired: set[str], counter: TokenCounter) -> Iterable[Part]:
    source = Source(SourceKind.TURN, turn.turn_id, turn.occur_time)
    for content in _joined(turn.contents, paired):
        text, item_id, tokens = _counted(content, turn, counter)
        spans = (Span(0, byte_length(text), item_id, source),)
        yield Part(SectionKind.QUESTION, content, text, spans, tokens)


def _joined(contents: Sequence[Content], paired: set[str]) -> Iterable[Content]:
    """The contents that stay. Texts beside each other become one: apart, their tokens would not add up."""
    texts: list[str] = []
    for content in contents:
        if isinstance(content, Text):
            texts.append(content.text)
        elif content.call_id in paired:
            if any(texts):
                yield Text("\n".join(texts))
            texts = []
            yield content
    if any(texts):
        yield Text("\n".join(texts))


def _counted(content: Content, turn: Turn, counter: TokenCounter) -> tuple[str, str, int]:
    if isinstance(content, Text):
        return content.text, f"turn/{turn.turn_id}", counter.count(content.text)
    if isinstance(content, ToolCall):
        text = content.tool_name + content.arguments_json
        return text, f"call/{content.call_id}", count_call(counter, content.tool_name, content.arguments_json)
    text = content.tool_name + content.result_json
    return text, f"result/{content.call_id}", count_result(counter, content.tool_name, content.result_json)
