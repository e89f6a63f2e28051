"""prompt.proto: the finished prompt as a message. On the hot path: long-lived parts are kept encoded."""

from collections.abc import Mapping

from assemblers.assembly import (
    Assembly,
    BudgetReport,
    Message,
    Part,
    Prompt,
    PromptFormat,
    Rendered,
    RenderedPart,
    SectionReport,
)
from assemblers.records import Degradation, PrefixRevision, Reason, SectionKind, Text, UserRef
from assemblers.tokens import Exactness
from gateway.convert.enums import ROLE_TO, SECTION_TO, STATUS_TO
from gateway.convert.identity_map import IdentityMap
from gateway.convert.spans import SpanWriter
from gateway.convert.types import content_to
from muniment.v1 import prompt_pb2, types_pb2

KEPT_PARTS = 4096
"""Encoded parts of prefixes and facts that are kept: about 4 KiB each."""

FORMAT_TO: Mapping[PromptFormat, types_pb2.PromptFormat.ValueType] = {
    f: types_pb2.PromptFormat.Value(f"PROMPT_FORMAT_{f}") for f in PromptFormat
}
FORMAT_OF = {number: f for f, number in FORMAT_TO.items()}
EXACTNESS_TO: Mapping[Exactness, types_pb2.Exactness.ValueType] = {
    e: types_pb2.Exactness.Value(f"EXACTNESS_{e.value}") for e in Exactness
}
REASON_TO: Mapping[Reason, prompt_pb2.Reason.ValueType] = {
    r: prompt_pb2.Reason.Value(f"REASON_{r}") for r in Reason
}

_LONG_LIVED = frozenset((SectionKind.PREFIX, SectionKind.FACTS))


class PromptWriter:
    """Writes prompts. Parts that the core keeps between calls are encoded once and merged as bytes."""

    def __init__(self) -> None:
        self._spans = SpanWriter()
        self._parts: IdentityMap[Part, bytes] = IdentityMap(KEPT_PARTS)
        self._tools: IdentityMap[PrefixRevision, bytes] = IdentityMap(KEPT_PARTS)

    def write(self, assembly: Assembly, user: UserRef) -> prompt_pb2.Prompt:
        """The message of an assembly's prompt."""
        prompt = assembly.prompt
        message = prompt_pb2.Prompt(
            budget_report=budget_to(prompt.budget),
            rendered=[_rendered_to(name, body) for name, body in prompt.rendered.items()],
            prefix_sha256=prompt.prefix_sha256,
            prompt_sha256=prompt.prompt_sha256,
        )
        self._write_tools(message, assembly)
        for source in prompt.messages:
            self._write_message(message.messages.add(), source, user)
        _write_marks(message, prompt)
        return message

    def _write_message(self, target: prompt_pb2.Message, source: Message, user: UserRef) -> None:
        target.role = ROLE_TO[source.role]
        for part in source.parts:
            if part.section in _LONG_LIVED:
                encoded = self._parts.get(part, lambda p: self._part(p, user).SerializeToString())
                target.parts.add().MergeFromString(encoded)
            else:
                self._write_part(target.parts.add(), part, user)

    def _part(self, part: Part, user: UserRef) -> prompt_pb2.Part:
        message = prompt_pb2.Part()
        self._write_part(message, part, user)
        return message

    def _write_part(self, target: prompt_pb2.Part, part: Part, user: UserRef) -> None:
        target.section = SECTION_TO[part.section]
        target.token_count = part.tokens
        if isinstance(part.content, Text):
            target.content.text = part.content.text
        else:
            target.content.CopyFrom(content_to(part.content))
        self._spans.write(target, part.spans, user)

    def _write_tools(self, message: prompt_pb2.Prompt, assembly: Assembly) -> None:
        prefix = assembly.prompt.prefix
        if prefix is not None and prefix.tools:
            message.MergeFromString(
                self._tools.get(prefix, lambda p: _tools(p, assembly).SerializeToString())
            )


def _tools(prefix: PrefixRevision, assembly: Assembly) -> prompt_pb2.Prompt:
    """A prompt of which only the tools are set. Their tokens are those of their candidates."""
    block = next(b for b in assembly.blocks if b.section is SectionKind.PREFIX)
    tokens = dict(zip([str(ref) for ref in block.refs], block.tokens.tolist(), strict=True))
    return prompt_pb2.Prompt(
        tools=[
            prompt_pb2.PromptTool(
                name=tool.name,
                definition_json=tool.definition_json.encode(),
                spans=[
                    types_pb2.Span(
                        length=len(tool.definition_json.encode()),
                        item_id=f"tool/{tool.name}",
                        source=types_pb2.SourceRef(prefix_revision=prefix.name),
                    )
                ],
                token_count=tokens[f"{block.item_prefix}tool/{tool.name}"],
            )
            for tool in prefix.tools
        ]
    )


def _write_marks(message: prompt_pb2.Prompt, prompt: Prompt) -> None:
    for mark in prompt.breakpoints:
        message.breakpoints.add(
            after_message=mark.message,
            after_part=mark.part,
            section=SECTION_TO[mark.section],
            ttl_class=mark.ttl_class,
        )
    for kind, digest in prompt.section_sha256.items():
        message.section_sha256.add(section=SECTION_TO[kind], sha256=digest)


def budget_to(budget: BudgetReport) -> prompt_pb2.BudgetReport:
    """The budget report."""
    return prompt_pb2.BudgetReport(
        limit=budget.limit,
        used=budget.used,
        exactness=EXACTNESS_TO[budget.exactness],
        tokenizer=budget.tokenizer,
        factor_permille=budget.factor_permille,
        sections=[_section_to(line) for line in budget.sections],
    )


def _section_to(line: SectionReport) -> prompt_pb2.SectionReport:
    return prompt_pb2.SectionReport(
        section=SECTION_TO[line.section],
        status=STATUS_TO[line.status],
        floor=line.floor,
        ceiling=line.ceiling,
        used=line.used,
        included=line.included,
        dropped=line.dropped,
        note=line.note,
    )


def degradation_to(item: Degradation) -> prompt_pb2.Degradation:
    """A degradation."""
    return prompt_pb2.Degradation(
        section=SECTION_TO[item.section],
        status=STATUS_TO[item.status],
        reason=REASON_TO[item.reason],
        detail=item.detail,
    )


def _rendered_to(name: PromptFormat, rendered: Rendered) -> prompt_pb2.RenderedPrompt:
    return prompt_pb2.RenderedPrompt(
        format=FORMAT_TO[name], body=rendered.body, parts=[_place_to(place) for place in rendered.parts]
    )


def _place_to(place: RenderedPart) -> prompt_pb2.RenderedPart:
    message = prompt_pb2.RenderedPart(pointer=place.pointer, offset=place.offset)
    if place.message is None:
        message.tool = place.index
    else:
        message.part.message, message.part.part = place.message, place.index
        message.part.SetInParent()
    return message
