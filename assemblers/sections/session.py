"""The session section: one fenced block of slots, empty when there is nothing to say, and today's date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo

from assemblers.assembly import Part, Source, SourceKind
from assemblers.budget import Shelf
from assemblers.policy.model import Policy, Section, SessionSection
from assemblers.records import Certainty, Filter, Focus, SectionKind, Slots
from assemblers.sections.fact_lines import quoted
from assemblers.sections.pieces import Piece, heading_line, make_part, piece, policy_text
from assemblers.text import inline, local_date, shorten
from assemblers.tokens import ModelTokens, TokenCounter

FENCE = "```\n"
TODAY = "today"
_FENCED, _ALONE = 0, -1


@dataclass(frozen=True, slots=True)
class SessionCandidates:
    """The slots in the order of rendering; `preference` gives the places in `pieces` that the shelf's costs follow."""

    shelf: Shelf
    pieces: tuple[Piece, ...]
    preference: tuple[int, ...]
    opening: Piece
    closing: Piece


def session_candidates(
    slots: Slots, policy: Policy, section: Section, tokens: ModelTokens, now: datetime, zone: tzinfo
) -> SessionCandidates:
    """Render and count the slots. The fence is the group line of all slots; today's date stands behind it."""
    settings = section.settings
    assert isinstance(settings, SessionSection)
    counter = tokens.counter
    labels = {item.key: item.label for item in policy.slots.filters}
    pieces = list(_slot_pieces(slots, labels, settings, counter))
    questions = len(slots.recent_questions)
    first_question = len(pieces) - questions
    # Today first, then focus, filters and style; of the questions the newest first.
    preference = [*range(first_question), *reversed(range(first_question, len(pieces)))]
    if settings.show_today:
        preference.insert(0, len(pieces))
        pieces.append(_today(counter, now, zone))
    opening = _fence(counter, heading_line(settings.heading) + FENCE)
    closing = _fence(counter, FENCE)
    ceiling = section.budget.ceiling_tokens
    shelf = Shelf(
        SectionKind.SESSION, [pieces[place].tokens for place in preference],
        tokens.raw_limit(section.budget.floor_tokens), None if ceiling is None else tokens.raw_limit(ceiling),
        section.budget.priority, 0, [_ALONE if pieces[place].item_id == TODAY else _FENCED for place in preference],
        (opening.tokens + closing.tokens,),
    )  # fmt: skip
    return SessionCandidates(shelf, tuple(pieces), tuple(preference), opening, closing)


def session_part(candidates: SessionCandidates) -> tuple[Part | None, list[int]]:
    """The slots that the budget took, and their places in `pieces` in order."""
    places = sorted(candidates.preference[item] for item in candidates.shelf.taken)
    if not places:
        return None, []
    pieces = [candidates.pieces[place] for place in places]
    fenced = [item for item in pieces if item.item_id != TODAY]
    alone = pieces[len(fenced) :]
    framed = [candidates.opening, *fenced, candidates.closing] if fenced else []
    return make_part(SectionKind.SESSION, (*framed, *alone), candidates.shelf.charge), places


def _slot_pieces(
    slots: Slots, labels: Mapping[str, str], settings: SessionSection, counter: TokenCounter
) -> Iterator[Piece]:
    if slots.focus is not None:
        yield piece(counter, _focus_line(slots.focus), "slot/focus", _slot("focus"))
    for item in slots.filters:
        yield piece(counter, _filter_line(item, labels), f"slot/filter/{item.key}", _slot(f"filter/{item.key}"))
    if slots.answer_format:
        line = f"- Answer format: {inline(slots.answer_format)}\n"
        yield piece(counter, line, "slot/format", _slot("format"))
    for question in slots.recent_questions:
        text = quoted(inline(shorten(inline(question.text), settings.max_question_characters)))
        ref = f"question/{question.turn_id}"
        yield piece(counter, f"- Earlier question: {text}\n", f"slot/{ref}", _slot(ref))


def _slot(ref: str) -> Source:
    return Source(SourceKind.SLOT, ref)


def _focus_line(focus: Focus) -> str:
    """A tentative focus is said to be one: carried wrongly, it would be wrong in silence."""
    about = "About" if focus.certainty is Certainty.CONFIRMED else "Probably about"
    name = " ".join(part for part in (inline(focus.type), inline(focus.id)) if part)
    label = inline(focus.label)
    return f"- {about}: {label} ({name})\n" if label and name else f"- {about}: {label or name}\n"


def _filter_line(item: Filter, labels: Mapping[str, str]) -> str:
    label = inline(labels.get(item.key, "")) or inline(item.key)
    assumed = "" if item.certainty is Certainty.CONFIRMED else " (assumed)"
    return f"- Filter {label}: {inline(item.value)}{assumed}\n"


def _fence(counter: TokenCounter, text: str) -> Piece:
    return piece(counter, text, "policy/session.heading", policy_text("session.heading"))


def _today(counter: TokenCounter, now: datetime, zone: tzinfo) -> Piece:
    line = f"Today is {local_date(now, zone)} ({inline(str(zone))}).\n"
    return piece(counter, line, TODAY, policy_text("session.show_today", now))
