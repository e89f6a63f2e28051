"""prompt.proto: the finished prompt as a message. The hot path writes the same as bytes (`encoded_prompt`)."""

from collections.abc import Iterable, Mapping

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
    Span,
)
from assemblers.records import Degradation, PrefixRevision, Reason, SectionKind, UserRef
from assemblers.tokens import Exactness
from gateway.convert.enums import ROLE_TO, SECTION_TO, STATUS_TO
from gateway.convert.origins import source_to
from gateway.convert.types import content_to
from muniment.v1 import prompt_pb2, types_pb2

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


def prompt_to(assembly: Assembly, user: UserRef) -> prompt_pb2.Prompt:
    """The message of an assembly's prompt; its facts and excerpts are named within `user`."""
    prompt = assembly.prompt
    message = prompt_pb2.Prompt(
        messages=[_message_to(source, user) for source in prompt.messages],
        rendered=rendered_to(prompt.rendered),
        budget_report=budget_to(prompt.budget),
        prefix_sha256=prompt.prefix_sha256,
        prompt_sha256=prompt.prompt_sha256,
    )
    if prompt.prefix is not None:
        message.tools.extend(tools_to(prompt.prefix, assembly))
    _write_marks(message, prompt)
    return message


def _message_to(message: Message, user: UserRef) -> prompt_pb2.Message:
    return prompt_pb2.Message(
        role=ROLE_TO[message.role], parts=[_part_to(part, user) for part in message.parts]
    )


def _part_to(part: Part, user: UserRef) -> prompt_pb2.Part:
    return prompt_pb2.Part(
        section=SECTION_TO[part.section],
        content=content_to(part.content),
        spans=[_span_to(span, user) for span in part.spans],
        token_count=part.tokens,
    )


def _span_to(span: Span, user: UserRef) -> types_pb2.Span:
    return types_pb2.Span(
        offset=span.offset, length=span.length, item_id=span.item_id, source=source_to(span.source, user)
    )


def tools_to(prefix: PrefixRevision, assembly: Assembly) -> list[prompt_pb2.PromptTool]:
    """The messages of the prefix's tools. Their tokens are those of their candidates."""
    if not prefix.tools:
        return []
    block = next(b for b in assembly.blocks if b.section is SectionKind.PREFIX)
    tokens = dict(zip([str(ref) for ref in block.refs], block.tokens.tolist(), strict=True))
    return [
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
        sections=[section_to(line) for line in budget.sections],
    )


def section_to(line: SectionReport) -> prompt_pb2.SectionReport:
    """A section's line of the report."""
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


def degradations_to(items: Iterable[Degradation]) -> list[prompt_pb2.Degradation]:
    """The messages of degradations."""
    return [degradation_to(item) for item in items]


def degradation_to(item: Degradation) -> prompt_pb2.Degradation:
    """A degradation."""
    return prompt_pb2.Degradation(
        section=SECTION_TO[item.section],
        status=STATUS_TO[item.status],
        reason=REASON_TO[item.reason],
        detail=item.detail,
    )


def rendered_to(rendered: Mapping[PromptFormat, Rendered]) -> list[prompt_pb2.RenderedPrompt]:
    """The messages of renderings, in the order asked for."""
    return [
        prompt_pb2.RenderedPrompt(
            format=FORMAT_TO[name],
            body=made.body,
            parts=[_place_to(place) for place in made.parts],
            notes=made.notes,
        )
        for name, made in rendered.items()
    ]


def _place_to(place: RenderedPart) -> prompt_pb2.RenderedPart:
    message = prompt_pb2.RenderedPart(pointer=place.pointer, offset=place.offset)
    if place.message is None:
        message.tool = place.index
    else:
        message.part.message, message.part.part = place.message, place.index
        message.part.SetInParent()
    return message
