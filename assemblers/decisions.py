"""Decisions in columns: the fate of every candidate of a section, and the policy field that decided.

Codes are those of `assemblers.assembly`: places in `OUTCOMES` and `REASONS`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assemblers.assembly import OUTCOMES, REASONS, CandidateBlock, Int32s, Int64s, Part, SourceKind, Span
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


def required_block(
    section: SectionKind,
    source_kind: SourceKind,
    ids: tuple[str, ...],
    tokens: Sequence[int],
    placed: Sequence[Span],
    message: int,
    part: int,
) -> CandidateBlock:
    """A block of items that are there because they must be; `placed` are the spans of the first ones, if any."""
    count = len(ids)
    outside = [NOT_PLACED] * (count - len(placed))
    offsets, lengths = [span[0] for span in placed] + outside, [span[1] for span in placed] + outside
    codes = bytes([INCLUDED] * count + [_REQUIRED] * count + [NO_FIELD] * count)
    figures = [*tokens, *offsets, *lengths]
    return _small_block(section, source_kind, ids, codes, figures, ("",), message, part)


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
    ids = [piece[3] for piece in pieces]
    spans = {span[2]: span for span in part.spans} if part is not None else {}
    there = [item in spans for item in ids]
    short, field = CODE[shelf.short], field_of(shelf.short)
    codes = bytes(
        [INCLUDED if fits else EXCLUDED for fits in there]
        + [_FITS if fits else short for fits in there]
        + [NO_FIELD if fits else field for fits in there]
    )
    figures = [piece[2] for piece in pieces]
    figures += [spans[item][0] if item in spans else NOT_PLACED for item in ids]
    figures += [spans[item][1] if item in spans else NOT_PLACED for item in ids]
    return _small_block(shelf.kind, source_kind, tuple(ids), codes, figures, policy_fields, message, index)


def _small_block(
    section: SectionKind,
    source_kind: SourceKind,
    ids: tuple[str, ...],
    codes: bytes,
    figures: list[int],
    policy_fields: tuple[str, ...],
    message: int,
    part: int,
) -> CandidateBlock:
    """A block from its columns behind each other: outcomes, reasons and fields; tokens, offsets and lengths."""
    # Two arrays for all columns: making six costs more than all else about a block of a few rows.
    narrow, wide, count = np.frombuffer(codes, np.uint8), np.array(figures, np.int32), len(ids)
    return CandidateBlock(
        section, source_kind, "", ids, narrow[:count], narrow[count : 2 * count], narrow[2 * count :], policy_fields,
        wide[:count], wide[count : 2 * count], wide[2 * count :], message, part, NO_SCORES,
    )  # fmt: skip
