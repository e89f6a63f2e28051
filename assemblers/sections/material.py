"""The material section: documents and tool results that the caller retrieved for this turn, whole or absent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from assemblers.assembly import Part, Source, SourceKind
from assemblers.budget import Shelf
from assemblers.policy.model import MaterialSection, Section
from assemblers.records import Material, SectionKind
from assemblers.sections.pieces import Piece, heading, make_part, piece, total_tokens
from assemblers.text import age, block, inline, local_date
from assemblers.tokens import ModelTokens


@dataclass(frozen=True, slots=True)
class MaterialCandidates:
    """The caller's documents in the caller's order, which is also the order of preference."""

    shelf: Shelf
    pieces: tuple[Piece, ...]
    headings: tuple[Piece, ...]


def material_candidates(
    material: Sequence[Material], section: Section, tokens: ModelTokens, now: datetime, zone: tzinfo
) -> MaterialCandidates:
    """Render and count the documents, each under a line with its title, source and age."""
    settings = section.settings
    assert isinstance(settings, MaterialSection)
    pieces = tuple(
        piece(
            tokens.counter, material_text(item, now, zone), f"material/{item.index}",
            Source(SourceKind.MATERIAL, item.source, item.read_time),
        )
        for item in sorted(material, key=lambda item: item.index)
    )  # fmt: skip
    headings = heading(tokens.counter, settings.heading, "material.heading")
    ceiling = section.budget.ceiling_tokens
    shelf = Shelf(
        SectionKind.MATERIAL, [item.tokens for item in pieces], tokens.raw_limit(section.budget.floor_tokens),
        None if ceiling is None else tokens.raw_limit(ceiling), section.budget.priority, total_tokens(headings),
    )  # fmt: skip
    return MaterialCandidates(shelf, pieces, headings)


def material_text(item: Material, now: datetime, zone: tzinfo) -> str:
    """A document: its title line, then its text as quoted lines."""
    title = inline(item.title) or "Untitled"
    revision = f", revision {inline(item.document_revision)}" if item.document_revision else ""
    read = f"read {age(item.read_time, now, zone)}, {local_date(item.read_time, zone)}"
    return f"- {title} (source {inline(item.source) or 'unnamed'}{revision}, {read}):\n{block(item.text)}"


def material_part(candidates: MaterialCandidates) -> tuple[Part | None, list[int]]:
    """The documents that the budget took, in the caller's order, and their rows in that order."""
    rows = sorted(candidates.shelf.taken)
    if not rows:
        return None, []
    pieces = (*candidates.headings, *(candidates.pieces[row] for row in rows))
    return make_part(SectionKind.MATERIAL, pieces, candidates.shelf.charge), rows
