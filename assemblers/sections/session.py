"""The session section: one fenced block of slots, empty when there is nothing to say, and today's date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from assemblers.assembly import Part, Source, SourceKind
from assemblers.budget import Shelf
from assemblers.memo import IdentityMemo
from assemblers.plan import SectionPlan
from assemblers.policy.model import SessionSection
from assemblers.records import Certainty, Filter, Focus, RecentQuestion, SectionKind, Slots
from assemblers.sections.fact_lines import quoted
from assemblers.sections.pieces import Piece, make_part, piece, policy_text
from assemblers.text import inline, local_date, shorten
from assemblers.tokens import TokenCounter

_IN_FENCE, _ALONE = 0, -1


class SessionCandidates(NamedTuple):
    """The slots in the order of rendering, and today's date where the policy shows it. `preference` gives the places
    in `slots` (and one past them for the date) that the shelf's costs follow."""

    section: SectionPlan
    shelf: Shelf
    slots: tuple[Piece, ...]
    today: Piece | None
    preference: tuple[int, ...]


def session_candidates(
    slots: Slots,
    question_turn_id: str,
    section: SectionPlan,
    filter_labels: Mapping[str, str],
    counter: TokenCounter,
    now: datetime,
    zone: tzinfo,
) -> SessionCandidates:
    """Render and count the slots. The fence is the group line of all slots; today's date stands behind it.

    The question being answered is no earlier one, although in a tool loop the slots remember it already.
    """
    settings = section.section.settings
    assert isinstance(settings, SessionSection)
    questions = [item for item in slots.recent_questions if item.turn_id != question_turn_id]
    pieces = tuple(_slot_pieces(slots, questions, filter_labels, settings, counter))
    today = _today(counter, now, zone) if settings.show_today else None
    count = len(pieces)
    # Today first, then focus, filters and format; of the questions the newest first.
    first_question = count - len(questions)
    preference = (*range(first_question), *range(count - 1, first_question - 1, -1))
    costs = [pieces[place].tokens for place in preference]
    groups = [_IN_FENCE] * count
    if today is not None:
        preference, costs, groups = (count, *preference), [today.tokens, *costs], [_ALONE, *groups]
    # The heading and both fences are a group's line and no frame: the date alone needs none of them.
    shelf = Shelf(
        SectionKind.SESSION, costs, section.floor, section.ceiling, section.priority, 0, groups,
        (section.heading_tokens,),
    )  # fmt: skip
    return SessionCandidates(section, shelf, pieces, today, preference)


def session_part(candidates: SessionCandidates) -> Part | None:
    """The slots that the budget took, and the date."""
    places = sorted(candidates.preference[item] for item in candidates.shelf.taken)
    if not places:
        return None
    count = len(candidates.slots)
    pieces = [candidates.slots[place] for place in places if place < count]
    if pieces:
        *opening, closing = candidates.section.headings
        pieces = [*opening, *pieces, closing]
    if candidates.today is not None and places[-1] == count:
        pieces.append(candidates.today)
    return make_part(SectionKind.SESSION, pieces, candidates.shelf.charge)


def _slot_pieces(
    slots: Slots,
    questions: Sequence[RecentQuestion],
    labels: Mapping[str, str],
    settings: SessionSection,
    counter: TokenCounter,
) -> Iterator[Piece]:
    if slots.focus is not None:
        yield _slot(counter, _focus_line(slots.focus), "focus")
    for item in slots.filters:
        yield _slot(counter, _filter_line(item, labels), f"filter/{item.key}")
    if slots.answer_format:
        yield _slot(counter, f"- Answer format: {inline(slots.answer_format)}\n", "format")
    for question in questions:
        text = inline(question.text)
        if len(text) > settings.max_question_characters:
            text = inline(shorten(text, settings.max_question_characters))
        yield _slot(counter, f"- Earlier question: {quoted(text)}\n", f"question/{question.turn_id}")


def _slot(counter: TokenCounter, line: str, ref: str) -> Piece:
    return piece(counter, line, f"slot/{ref}", Source(SourceKind.SLOT, ref))


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


_DAYS: IdentityMemo[Piece] = IdentityMemo(most=256)


def _today(counter: TokenCounter, now: datetime, zone: tzinfo) -> Piece:
    def make() -> Piece:
        line = f"Today is {local_date(now, zone)} ({inline(str(zone))}).\n"
        return piece(counter, line, "today", policy_text("session.show_today"))

    return _DAYS.get((counter, zone), (now.astimezone(zone).toordinal(),), make)
