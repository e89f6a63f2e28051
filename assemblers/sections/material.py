"""The material section: documents and tool results that the caller retrieved for this turn, whole or absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from assemblers.assembly import Part, Source, SourceKind
from assemblers.budget import Shelf
from assemblers.plan import SectionPlan
from assemblers.records import Material, SectionKind
from assemblers.sections.pieces import Piece, make_part, piece
from assemblers.text import age, block_counted, hidden_characters, inline, local_date
from assemblers.tokens import TokenCounter


class MaterialCandidates(NamedTuple):
    """The caller's documents in the caller's order, which is also the order of preference. `hidden` is how many
    characters were left out of them, by item id, where any were."""

    section: SectionPlan
    shelf: Shelf
    pieces: list[Piece]
    hidden: Mapping[str, int]


def material_candidates(
    material: Sequence[Material], section: SectionPlan, counter: TokenCounter, now: datetime, zone: tzinfo
) -> MaterialCandidates:
    """Render and count the documents, each under a line with its title, source and age."""
    if not material:
        return MaterialCandidates(section, Shelf(section.kind, ()), [], {})
    pieces, hidden = [], {}
    for item in sorted(material, key=lambda item: item.index):
        text, left_out = material_text(item, now, zone)
        source = Source(SourceKind.MATERIAL, item.source, item.read_time)
        document = piece(counter, text, f"material/{item.index}", source)
        pieces.append(document)
        if left_out:
            hidden[document.item_id] = left_out
    costs = [item.tokens for item in pieces]
    shelf = Shelf(
        section.kind, costs, section.floor, section.ceiling, section.priority, section.heading_tokens
    )
    return MaterialCandidates(section, shelf, pieces, hidden)


def material_text(item: Material, now: datetime, zone: tzinfo) -> tuple[str, int]:
    """A document: its title line, then its text as quoted lines; and how many hidden characters were left out."""
    title = inline(item.title) or "Untitled"
    revision = f", revision {inline(item.document_revision)}" if item.document_revision else ""
    read = f"read {age(item.read_time, now, zone)}, {local_date(item.read_time, zone)}"
    head = f"- {title} (source {inline(item.source) or 'unnamed'}{revision}, {read}):\n"
    text, hidden = block_counted(item.text)
    return head + text, hidden + hidden_characters(item.title, item.source, item.document_revision)


def material_part(candidates: MaterialCandidates) -> Part | None:
    """The documents that the budget took, in the caller's order."""
    shelf = candidates.shelf
    if not shelf.taken:
        return None
    pieces = [candidates.pieces[row] for row in sorted(shelf.taken)]
    return make_part(SectionKind.MATERIAL, (*candidates.section.headings, *pieces), shelf.charge)
