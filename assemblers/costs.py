"""What a prompt costs in each form that it may be sent in, and how an outsider counts it again.

The cost of a form is its frames (`assemblers.tokens.Frame`) and the texts that are sent in it. JSON formats and the
neutral messages: each stretch of text parts of a message, joined, is one text; of calls, results and tools the names
and JSON documents are counted each on its own. TEXT: the whole body is one text. The prompt costs what its dearest
form does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from assemblers.assembly import Message, Part, Prompt, PromptFormat
from assemblers.formats import FORMATS
from assemblers.formats.parts import sent_parts
from assemblers.records import PrefixRevision, Text, ToolCall, ToolResult
from assemblers.tokens import (
    NEUTRAL,
    Frame,
    ModelTokens,
    TokenCounter,
    count_call,
    count_result,
    count_tool,
)  # fmt: skip

CountParts = Callable[[Sequence[Part]], int]


def recount(prompt: Prompt, tokens: ModelTokens) -> int:
    """The prompt's raw tokens, counted from its finished texts alone, without using any stored count.

    `tokens.scaled` of it equals `prompt.budget.used`. To do the same elsewhere: for the neutral messages and for each
    format in `prompt.rendered`, add the frame (once per prompt, for each message sent, each tool definition, call and
    result), and the ordinary counts of the texts: of every message its text parts joined without a separator, where
    calls and results stand between texts each stretch on its own; of a call the tool's name and the arguments' JSON,
    each on its own, of a result the name and the result's JSON, of each tool its definition. Of TEXT the whole body
    is counted, and no call, result or tool on its own. The greatest of these sums is the figure.
    """
    return prompt_cost(
        tuple(prompt.rendered), prompt.messages, prompt.prefix, tokens, _recounter(tokens.counter)
    )


def prompt_cost(
    formats: Iterable[PromptFormat],
    messages: Sequence[Message],
    prefix: PrefixRevision | None,
    tokens: ModelTokens,
    count: CountParts,
) -> int:
    """Raw tokens of the dearest of the neutral messages and the formats; `count` gives those of a message's parts."""
    costs = [_neutral_cost(messages, prefix, tokens, count)]
    for name in formats:
        if name is PromptFormat.TEXT:
            costs.append(_text_cost(messages, prefix, tokens))
        else:
            costs.append(_format_cost(name, messages, prefix, tokens, count))
    return max(costs)


def stored_counts(parts: Sequence[Part]) -> int:
    """The tokens that the parts were found to have when they were made."""
    return sum(part.tokens for part in parts)


def _neutral_cost(
    messages: Sequence[Message], prefix: PrefixRevision | None, tokens: ModelTokens, count: CountParts
) -> int:
    frame = tokens.frame(NEUTRAL)
    texts = sum(count(message.parts) for message in messages)
    return texts + len(messages) * frame.message + _frames(frame, messages, prefix, tokens.counter)


def _format_cost(
    name: PromptFormat,
    messages: Sequence[Message],
    prefix: PrefixRevision | None,
    tokens: ModelTokens,
    count: CountParts,
) -> int:
    frame = tokens.frame(name)
    texts = sum(count([part for _, part in sent_parts(message)]) for message in messages)
    sent = FORMATS[name].sent_messages(messages)
    return texts + sent * frame.message + _frames(frame, messages, prefix, tokens.counter)


def _text_cost(messages: Sequence[Message], prefix: PrefixRevision | None, tokens: ModelTokens) -> int:
    frame = tokens.frame(PromptFormat.TEXT)
    form = FORMATS[PromptFormat.TEXT]
    body = form.render(messages, prefix).body.decode()
    return frame.prompt + form.sent_messages(messages) * frame.message + tokens.counter.count(body)


def _frames(
    frame: Frame, messages: Sequence[Message], prefix: PrefixRevision | None, counter: TokenCounter
) -> int:
    """What a prompt costs beside its messages and their texts: its own frame, and tools, calls and results."""
    total = frame.prompt
    if prefix is not None and prefix.tools:
        definitions = sum(count_tool(counter, tool.definition_json) for tool in prefix.tools)
        total += frame.tools + len(prefix.tools) * frame.tool + definitions
    for message in messages:
        for part in message.parts:
            if isinstance(part.content, ToolCall):
                total += frame.call
            elif isinstance(part.content, ToolResult):
                total += frame.result
    return total


def _recounter(counter: TokenCounter) -> CountParts:
    def count(parts: Sequence[Part]) -> int:
        total, texts = 0, ""
        for part in parts:
            content = part.content
            if isinstance(content, Text):
                texts += content.text
                continue
            total += counter.count(texts) if texts else 0
            texts = ""
            if isinstance(content, ToolCall):
                total += count_call(counter, content.tool_name, content.arguments_json)
            else:
                total += count_result(counter, content.tool_name, content.result_json)
        return total + (counter.count(texts) if texts else 0)

    return count
