"""Decisions in columns: the fate of every candidate of a section, and the policy field that decided.

Codes are those of `assemblers.assembly`: places in `OUTCOMES` and `REASONS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from assemblers.assembly import (
    OUTCOMES,
    REASONS,
    Bytes1,
    CandidateBlock,
    Int32s,
    Int64s,
    Part,
    Source,
    SourceKind,
    Span,
)
from assemblers.budget import Shelf
from assemblers.policy.model import Policy
from assemblers.records import Outcome, Reason, SectionKind
from assemblers.sections.pieces import Piece

INCLUDED = OUTCOMES.index(Outcome.INCLUDED)
EXCLUDED = OUTCOMES.index(Outcome.EXCLUDED)
CODE = {reason: code for code, reason in enumerate(REASONS)}
NOT_PLACED = -1

_NOWHERE = Span(NOT_PLACED, NOT_PLACED, "", Source(SourceKind.POLICY_TEXT, ""))
_FITS = CODE[Reason.WITHIN_BUDGET]
_REQUIRED = CODE[Reason.REQUIRED]

NO_FIELD = 0
"""Places in a block's `policy_fields`: none, the whole budget, the section's ceiling; a section adds its own."""
BUDGET_FIELD = 1
CEILING_FIELD = 2

NO_SCORES: dict[str, Int64s] = {}
_NO_FIGURES: Int32s = np.zeros(0, np.int32)


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
    figures = [*tokens, *[span[0] for span in placed], *outside, *[span[1] for span in placed], *outside]
    return _small_block(section, source_kind, ids, _codes(count, _REQUIRED), figures, ("",), message, part)


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
    if not pieces:
        return _small_block(shelf.kind, source_kind, (), b"", [], policy_fields, message, index)
    places = {span[2]: span for span in part.spans} if part is not None else {}
    ids = tuple([piece[3] for piece in pieces])
    spans = [places.get(item, _NOWHERE) for item in ids]
    figures = [piece[2] for piece in pieces] + [span[0] for span in spans] + [span[1] for span in spans]
    codes = _codes(len(ids), _FITS)
    if _NOWHERE in spans:
        absent = [row for row, span in enumerate(spans) if span is _NOWHERE]
        codes = _with_absent(codes, absent, shelf.short)
    return _small_block(shelf.kind, source_kind, ids, codes, figures, policy_fields, message, index)


@lru_cache(maxsize=256)
def _codes(count: int, reason: int) -> bytes:
    """Outcomes, reasons and fields of `count` items that are all there."""
    return bytes([INCLUDED] * count + [reason] * count + [NO_FIELD] * count)


def _with_absent(codes: bytes, absent: Sequence[int], short: Reason) -> bytes:
    changed, count = bytearray(codes), len(codes) // 3
    for row in absent:
        changed[row], changed[count + row], changed[2 * count + row] = EXCLUDED, CODE[short], field_of(short)
    return bytes(changed)


@lru_cache(maxsize=1024)
def _bytes(codes: bytes) -> Bytes1:
    """A read-only column; there are few different ones."""
    return np.frombuffer(codes, np.uint8)


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
    count = len(ids)
    narrow, wide = _bytes(codes), np.array(figures, np.int32) if figures else _NO_FIGURES
    return CandidateBlock(
        section, source_kind, "", ids, narrow[:count], narrow[count : 2 * count], narrow[2 * count :], policy_fields,
        wide[:count], wide[count : 2 * count], wide[2 * count :], message, part, NO_SCORES,
    )  # fmt: skip
