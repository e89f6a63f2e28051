"""The page: from what the budget took to messages in byte order, and the fate of every candidate beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assemblers.assembly import Breakpoint, CandidateBlock, Conditions, Message, Part, SourceKind, Span
from assemblers.decisions import budget_fields, required_row, shelf_block, small_block
from assemblers.offers import Offers
from assemblers.policy.model import Policy
from assemblers.records import SectionKind
from assemblers.required import Required
from assemblers.sections.facts import facts_block, select_facts
from assemblers.sections.history import history_block, history_part
from assemblers.sections.material import MaterialCandidates, material_part
from assemblers.sections.pieces import Piece
from assemblers.sections.session import TODAY, SessionCandidates, session_part

_TTL_CLASSES = {SectionKind.PREFIX: "1h", SectionKind.FACTS: "5m"}


@dataclass(frozen=True, slots=True)
class Page:
    """The messages, the decisions, and the digests of sections that were known beforehand."""

    messages: tuple[Message, ...]
    blocks: tuple[CandidateBlock, ...]
    known_sha256: dict[SectionKind, str]


def lay_out(conditions: Conditions, required: Required, offers: Offers) -> Page:
    """Render what the shelves took. Byte order: prefix, facts, history, material, session, question, open turn."""
    policy = conditions.policy.policy
    known: dict[SectionKind, str] = {}
    blocks: list[CandidateBlock] = []
    if required.prefix is not None:
        blocks.append(required.prefix.block)
        known[SectionKind.PREFIX] = required.prefix.section_sha256
    user = 1 if required.prefix is not None and required.prefix.part is not None else 0
    facts, volatile = None, []
    if offers.facts is not None:
        selection = select_facts(*offers.facts)
        facts, known[SectionKind.FACTS] = selection.part, selection.sha256
        blocks.append(facts_block(offers.facts[0], selection, user))
        user += facts is not None and required.facts_role is not None
    first = 1 if facts is not None and required.facts_role is None else 0
    if offers.history is not None:
        part, rows = history_part(offers.history)
        blocks.append(history_block(offers.history, rows, part, user, first))
        volatile += [part] if part is not None else []
    if offers.material is not None:
        part, _ = material_part(offers.material)
        blocks.append(_material_block(policy, offers.material, part, user, first + len(volatile)))
        volatile += [part] if part is not None else []
    if offers.session is not None:
        part, _ = session_part(offers.session)
        blocks += _session_blocks(policy, offers.session, part, user, first + len(volatile))
        volatile += [part] if part is not None else []
    messages = required.messages(facts, tuple(volatile))
    blocks += _question_blocks(messages, user)
    return Page(messages, tuple(blocks), known)


def breakpoints(messages: Sequence[Message], most: int) -> tuple[Breakpoint, ...]:
    """Where a provider may cache: after the prefix and after the facts, at most `most` (ours are dropped from the end)."""
    found = [
        Breakpoint(number, index, part.section, _TTL_CLASSES[part.section])
        for number, message in enumerate(messages)
        for index, part in enumerate(message.parts)
        if part.section in _TTL_CLASSES
    ]
    return tuple(found[: max(0, most)])


def _spans(part: Part | None) -> dict[str, Span]:
    return {span.item_id: span for span in part.spans} if part is not None else {}


def _material_block(
    policy: Policy, offered: MaterialCandidates, part: Part | None, message: int, index: int
) -> CandidateBlock:
    items = [(item.item_id, item.tokens) for item in offered.pieces]
    fields = budget_fields(policy, SectionKind.MATERIAL)
    return shelf_block(SourceKind.MATERIAL, offered.shelf, items, _spans(part), fields, message, index)


def _session_blocks(
    policy: Policy, offered: SessionCandidates, part: Part | None, message: int, index: int
) -> list[CandidateBlock]:
    """The slots, and today's date, whose origin is another."""
    fields, spans = budget_fields(policy, SectionKind.SESSION), _spans(part)

    def block(kind: SourceKind, pieces: list[Piece]) -> CandidateBlock:
        items = [(item.item_id, item.tokens) for item in pieces]
        return shelf_block(kind, offered.shelf, items, spans, fields, message, index)

    slots = [item for item in offered.pieces if item.item_id != TODAY]
    dates = [item for item in offered.pieces if item.item_id == TODAY]
    kinds = (SourceKind.SLOT, slots), (SourceKind.POLICY_TEXT, dates)
    return [block(kind, pieces) for kind, pieces in kinds if pieces]


def _question_blocks(messages: Sequence[Message], user: int) -> list[CandidateBlock]:
    """The question, and one block for each part of the open turn."""
    parts = [
        (number, index, part)
        for number, message in enumerate(messages[user:], user)
        for index, part in enumerate(message.parts)
        if part.section is SectionKind.QUESTION
    ]
    return [_question_block(part, number, index) for number, index, part in parts]


def _question_block(part: Part, message: int, index: int) -> CandidateBlock:
    span = part.spans[-1]
    row = required_row(part.tokens, span.offset, span.length)
    return small_block(SectionKind.QUESTION, SourceKind.TURN, (span.item_id,), [row], ("",), message, index)
