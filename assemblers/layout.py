"""The page: from what the budget took to messages in byte order, and the fate of every candidate beside them."""

from __future__ import annotations

from typing import NamedTuple

from assemblers.assembly import Breakpoint, CandidateBlock, Message, Part, SourceKind
from assemblers.decisions import required_block, shelf_block
from assemblers.offers import Offers
from assemblers.records import SectionKind
from assemblers.required import Required, message_list
from assemblers.sections.facts import facts_block, select_facts
from assemblers.sections.history import history_block, history_part
from assemblers.sections.material import MaterialCandidates, material_part
from assemblers.sections.session import SessionCandidates, session_part

_PREFIX_MARK = Breakpoint(0, 0, SectionKind.PREFIX, "1h")
_FACTS_TTL_CLASS = "5m"


class Page(NamedTuple):
    """The messages, the decisions, the digests of sections that were known beforehand, and where a provider may cache:
    after the prefix and after the facts."""

    messages: tuple[Message, ...]
    blocks: tuple[CandidateBlock, ...]
    known_sha256: dict[SectionKind, str]
    marks: tuple[Breakpoint, ...]


def lay_out(required: Required, offers: Offers) -> Page:
    """Render what the shelves took. Byte order: prefix, facts, history, material, session, question, open turn."""
    known: dict[SectionKind, str] = {}
    blocks: list[CandidateBlock] = []
    marks: tuple[Breakpoint, ...] = ()
    user, facts = 0, None
    if required.prefix is not None:
        blocks.append(required.prefix.block)
        known[SectionKind.PREFIX] = required.prefix.section_sha256
        if required.prefix.part is not None:
            user, marks = 1, (_PREFIX_MARK,)
    if offers.facts is not None:
        selection = select_facts(*offers.facts)
        facts, known[SectionKind.FACTS] = selection.part, selection.sha256
        blocks.append(facts_block(offers.facts[0], selection, user))
    first = 0
    if facts is not None:
        marks = (*marks, Breakpoint(user, 0, SectionKind.FACTS, _FACTS_TTL_CLASS))
        if required.facts_role is not None:
            user += 1
        else:
            first = 1
    parts = _volatile(offers, blocks, user, first)
    parts.append(required.question)
    blocks.append(_question_block(required.question, user, first + len(parts) - 1))
    for number, message in enumerate(required.open.messages, user + 1):
        blocks += [_question_block(part, number, index) for index, part in enumerate(message.parts)]
    messages = message_list(required.prefix, required.facts_role, facts, tuple(parts), required.open)
    return Page(messages, tuple(blocks), known, marks)


def _volatile(offers: Offers, blocks: list[CandidateBlock], user: int, first: int) -> list[Part]:
    """The parts between facts and question, from number `first` of message `user` on; their blocks go to `blocks`."""
    parts: list[Part] = []
    if offers.history is not None:
        made = history_part(offers.history)
        blocks.append(history_block(offers.history, made, user, first))
        if made is not None:
            parts.append(made.part)
    if offers.material is not None:
        part = material_part(offers.material)
        blocks.append(_material_block(offers.material, part, user, first + len(parts)))
        if part is not None:
            parts.append(part)
    if offers.session is not None:
        part = session_part(offers.session)
        # Today's date is the policy's text, like a heading, and no candidate of its own.
        if offers.session.slots:
            blocks.append(_session_block(offers.session, part, user, first + len(parts)))
        if part is not None:
            parts.append(part)
    return parts


def _material_block(offered: MaterialCandidates, part: Part | None, user: int, index: int) -> CandidateBlock:
    fields = offered.section.fields
    return shelf_block(SourceKind.MATERIAL, offered.shelf, offered.pieces, part, fields, user, index)


def _session_block(offered: SessionCandidates, part: Part | None, user: int, index: int) -> CandidateBlock:
    fields = offered.section.fields
    return shelf_block(SourceKind.SLOT, offered.shelf, offered.slots, part, fields, user, index)


def _question_block(part: Part, message: int, index: int) -> CandidateBlock:
    own = part.spans[-1:]
    ids, tokens = (own[0].item_id,), (part.tokens,)
    return required_block(SectionKind.QUESTION, SourceKind.TURN, ids, tokens, own, message, index)
