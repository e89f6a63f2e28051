"""Decisions in columns: the fate of every candidate of a section, and the policy field that decided.

Codes are those of `assemblers.assembly`: places in `OUTCOMES` and `REASONS`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assemblers.assembly import OUTCOMES, REASONS, CandidateBlock, Int32s, Int64s, Part, SourceKind
from assemblers.budget import Shelf
from assemblers.policy.model import Policy
from assemblers.records import Outcome, Reason, SectionKind
from assemblers.sections.pieces import Piece

INCLUDED = OUTCOMES.index(Outcome.INCLUDED)
EXCLUDED = OUTCOMES.index(Outcome.EXCLUDED)
CODE = {reason: code for code, reason in enumerate(REASONS)}
NOT_PLACED = -1

_FITS = CODE[Reason.WITHIN_BUDGET]
_REQUIRED = CODE[Reason.REQUIRED]

NO_FIELD = 0
"""Places in a block's `policy_fields`: none, the whole budget, the section's ceiling; a section adds its own."""
BUDGET_FIELD = 1
CEILING_FIELD = 2

NO_SCORES: dict[str, Int64s] = {}


def section_field(policy: Policy, kind: SectionKind, name: str) -> str:
    """The path of a field of a section, as the policy's author wrote it: `sections[1].facts.max_facts`."""
    place = next((i for i, section in enumerate(policy.sections) if section.kind is kind), 0)
    return f"sections[{place}].{name}"


def budget_fields(policy: Policy, kind: SectionKind, *more: str) -> tuple[str, ...]:
    """A block's `policy_fields`: none, the two that every section has, and `more` (whole paths)."""
    return ("", "budget.max_input_tokens", section_field(policy, kind, "budget.ceiling_tokens"), *more)


def field_of(reason: Reason) -> int:
    """Which of the two budget fields decided."""
    if reason is Reason.OVER_BUDGET:
        return BUDGET_FIELD
    return CEILING_FIELD if reason is Reason.OVER_CEILING else NO_FIELD


def int32s(values: Sequence[int]) -> Int32s:
    """A column."""
    return np.array(values, np.int32)


def small_block(
    section: SectionKind,
    source_kind: SourceKind,
    ids: tuple[str, ...],
    rows: Sequence[tuple[int, int, int, int, int, int]],
    policy_fields: tuple[str, ...],
    message: int,
    part: int,
) -> CandidateBlock:
    """A block from rows of outcome, reason, field, tokens, offset and length."""
    # One array for all columns: making six costs more than all else about a block of a few rows.
    columns = np.array(rows, np.int32).reshape(-1, 6).T
    codes = columns[:3].astype(np.uint8)
    return CandidateBlock(
        section, source_kind, "", ids, codes[0], codes[1], codes[2], policy_fields, columns[3], columns[4], columns[5],
        message, part, NO_SCORES,
    )  # fmt: skip


def required_row(
    tokens: int, offset: int = NOT_PLACED, length: int = NOT_PLACED
) -> tuple[int, int, int, int, int, int]:
    """A row of an item that is there because it must be."""
    return INCLUDED, _REQUIRED, NO_FIELD, tokens, offset, length


def shelf_block(
    source_kind: SourceKind,
    shelf: Shelf,
    pieces: Sequence[Piece],
    part: Part | None,
    policy_fields: tuple[str, ...],
    message: int,
    index: int,
) -> CandidateBlock:
    """The block of a section of a few pieces, of which those with a span in `part` are there."""
    spans = {span.item_id: span for span in part.spans} if part is not None else {}
    short = CODE[shelf.short], field_of(shelf.short)
    rows = []
    for _, _, tokens, item_id, _ in pieces:
        span = spans.get(item_id)
        if span is not None:
            rows.append((INCLUDED, _FITS, NO_FIELD, tokens, span.offset, span.length))
        else:
            rows.append((EXCLUDED, *short, tokens, NOT_PLACED, NOT_PLACED))
    ids = tuple(piece.item_id for piece in pieces)
    return small_block(shelf.kind, source_kind, ids, rows, policy_fields, message, index)
