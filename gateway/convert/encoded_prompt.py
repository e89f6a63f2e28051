"""The finished prompt as bytes, for the hot path: the encoding of what `prompt.prompt_to` makes, much faster.

What the core keeps between calls (the prefix's part, the facts' part) is encoded once; what is rare goes through
messages.
"""

from functools import lru_cache

from assemblers.assembly import (
    Assembly,
    Breakpoint,
    BudgetReport,
    CandidateBlock,
    Message,
    Part,
    Prompt,
    SectionReport,
)
from assemblers.records import SectionKind, Text, UserRef
from assemblers.tokens import Exactness
from gateway.convert import wire
from gateway.convert.enums import ROLE_TO, SECTION_TO, STATUS_TO
from gateway.convert.identity_map import IdentityMap
from gateway.convert.prompt import EXACTNESS_TO, rendered_to, tools_to
from gateway.convert.spans import SpanEncoder
from gateway.convert.types import content_to
from muniment.v1 import prompt_pb2, types_pb2

KEPT_PARTS = 4096
"""Encoded parts of prefixes and facts that are kept: about 4 KiB each."""

_LONG_LIVED = frozenset((SectionKind.PREFIX, SectionKind.FACTS))

_MESSAGES, _BUDGET, _BREAKPOINTS, _PREFIX_SHA256, _SECTION_SHA256, _PROMPT_SHA256 = (
    wire.key(prompt_pb2.Prompt, field)
    for field in (
        "messages",
        "budget_report",
        "breakpoints",
        "prefix_sha256",
        "section_sha256",
        "prompt_sha256",
    )
)
_PARTS = wire.key(prompt_pb2.Message, "parts")
_CONTENT, _TOKENS = wire.key(prompt_pb2.Part, "content"), wire.key(prompt_pb2.Part, "token_count")
_TEXT = wire.key(types_pb2.Content, "text")
_LIMIT, _USED, _EXACTNESS, _TOKENIZER, _FACTOR, _SECTIONS = (
    wire.key(prompt_pb2.BudgetReport, field)
    for field in ("limit", "used", "exactness", "tokenizer", "factor_permille", "sections")
)
_FIGURES = tuple(
    wire.key(prompt_pb2.SectionReport, field)
    for field in ("section", "status", "floor", "ceiling", "used", "included", "dropped")
)
_NOTE = wire.key(prompt_pb2.SectionReport, "note")
_AFTER_MESSAGE, _AFTER_PART, _MARKED, _TTL_CLASS = (
    wire.key(prompt_pb2.Breakpoint, field)
    for field in ("after_message", "after_part", "section", "ttl_class")
)
_HEX_DIGITS = 64

_ROLES = {role: wire.integer(wire.key(prompt_pb2.Message, "role"), n) for role, n in ROLE_TO.items()}
_PART_SECTIONS = {k: wire.integer(wire.key(prompt_pb2.Part, "section"), n) for k, n in SECTION_TO.items()}


def _before_digest(number: int) -> bytes:
    """A `SectionDigest` as an element of `Prompt.section_sha256`, up to its digest: 64 hex digits."""
    head = wire.integer(wire.key(prompt_pb2.SectionDigest, "section"), number)
    head += wire.key(prompt_pb2.SectionDigest, "sha256") + wire.varint(_HEX_DIGITS)
    return _SECTION_SHA256 + wire.varint(len(head) + _HEX_DIGITS) + head


_DIGEST_HEADS = {kind: _before_digest(number) for kind, number in SECTION_TO.items()}


class PromptEncoder:
    """Encodes prompts. One instance serves all users."""

    def __init__(self) -> None:
        self._spans = SpanEncoder()
        self._parts: IdentityMap[Part, bytes] = IdentityMap(KEPT_PARTS)
        self._tools: IdentityMap[CandidateBlock, bytes] = IdentityMap(KEPT_PARTS)

    def encode(self, assembly: Assembly, user: UserRef) -> bytes:
        """The encoded `Prompt`; its facts and excerpts are named within `user`."""
        prompt = assembly.prompt
        return b"".join(
            (
                *[self._message(message, user) for message in prompt.messages],
                self._tools_of(assembly),
                _rendered(prompt) if prompt.rendered else b"",
                wire.delimited(_BUDGET, _budget(prompt.budget)),
                _breakpoints(prompt.breakpoints),
                wire.text(_PREFIX_SHA256, prompt.prefix_sha256),
                _digests(prompt),
                wire.text(_PROMPT_SHA256, prompt.prompt_sha256),
            )
        )

    def _message(self, message: Message, user: UserRef) -> bytes:
        parts = [
            self._parts.get(part, lambda p: self._part(p, user))
            if part.section in _LONG_LIVED
            else self._part(part, user)
            for part in message.parts
        ]
        return wire.delimited(_MESSAGES, b"".join((_ROLES[message.role], *parts)))

    def _part(self, part: Part, user: UserRef) -> bytes:
        """The part as an element of `Message.parts`."""
        content, varint = part.content, wire.varint
        if isinstance(content, Text):
            text = content.text.encode()
            written = _TEXT + varint(len(text)) + text
        else:
            written = content_to(content).SerializeToString()
        spans = self._spans.encode(part.spans, user)
        head = _PART_SECTIONS[part.section] + _CONTENT + varint(len(written))
        tokens = _TOKENS + varint(part.tokens) if part.tokens else b""
        size = varint(len(head) + len(written) + len(spans) + len(tokens))
        return b"".join((_PARTS, size, head, written, spans, tokens))

    def _tools_of(self, assembly: Assembly) -> bytes:
        """Kept by their candidates, which are the same for one prefix counted by one vocabulary."""
        prefix = assembly.prompt.prefix
        if prefix is None or not prefix.tools:
            return b""
        block = next(b for b in assembly.blocks if b.section is SectionKind.PREFIX)
        return self._tools.get(
            block, lambda _: prompt_pb2.Prompt(tools=tools_to(prefix, assembly)).SerializeToString()
        )


def _rendered(prompt: Prompt) -> bytes:
    return prompt_pb2.Prompt(rendered=rendered_to(prompt.rendered)).SerializeToString()


def _budget(budget: BudgetReport) -> bytes:
    return b"".join(
        (
            wire.integer(_LIMIT, budget.limit),
            wire.integer(_USED, budget.used),
            _counting(budget.exactness, budget.tokenizer, budget.factor_permille),
            *map(_section, budget.sections),
        )
    )


@lru_cache(maxsize=256)
def _counting(exactness: Exactness, tokenizer: str, factor_permille: int) -> bytes:
    return (
        wire.integer(_EXACTNESS, EXACTNESS_TO[exactness])
        + wire.text(_TOKENIZER, tokenizer)
        + wire.integer(_FACTOR, factor_permille)
    )


# Most sections come out the same in call after call.
@lru_cache(maxsize=4096)
def _section(line: SectionReport) -> bytes:
    figures = (SECTION_TO[line.section], STATUS_TO[line.status], *line[2:7])
    written = map(wire.integer, _FIGURES, figures)
    return wire.delimited(_SECTIONS, b"".join((*written, wire.text(_NOTE, line.note))))


@lru_cache(maxsize=256)
def _breakpoints(marks: tuple[Breakpoint, ...]) -> bytes:
    return b"".join(
        wire.delimited(
            _BREAKPOINTS,
            wire.integer(_AFTER_MESSAGE, mark.message)
            + wire.integer(_AFTER_PART, mark.part)
            + wire.integer(_MARKED, SECTION_TO[mark.section])
            + wire.text(_TTL_CLASS, mark.ttl_class),
        )
        for mark in marks
    )


def _digests(prompt: Prompt) -> bytes:
    return b"".join([_DIGEST_HEADS[kind] + digest.encode() for kind, digest in prompt.section_sha256.items()])
