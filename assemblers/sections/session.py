"""The session section: one fenced block of slots, empty when there is nothing to say, and today's date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import NamedTuple

from assemblers.assembly import Part, Source, SourceKind
from assemblers.budget import Shelf
from assemblers.memo import IdentityMemo
from assemblers.plan import SectionPlan
from assemblers.policy.model import SessionSection
from assemblers.records import Certainty, Filter, Focus, RecentQuestion, Slots
from assemblers.sections.fact_lines import quoted
from assemblers.sections.pieces import Piece, make_part, piece, policy_text
from assemblers.text import hidden_characters, inline, local_date, shorten
from assemblers.tokens import TokenCounter

_IN_FENCE, _ALONE = 0, -1
_NONE_HIDDEN: Mapping[str, int] = {}
_SLOT = SourceKind.SLOT


class SessionCandidates(NamedTuple):
    """The slots in the order of rendering, and today's date where the policy shows it. `preference` gives the places
    in `slots` (and one past them for the date) that the shelf's costs follow; `hidden` is how many characters were left
    out of slots, by item id, where any were."""

    section: SectionPlan
    shelf: Shelf
    slots: list[Piece]
    today: Piece | None
    preference: tuple[int, ...]
    hidden: Mapping[str, int]


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
    pieces = _slot_pieces(slots, questions, filter_labels, settings, counter)
    today = _today(counter, now, zone) if settings.show_today else None
    preference, groups = _preference(len(pieces), len(questions), today is not None)
    shown = pieces if today is None else [*pieces, today]
    costs = [shown[place].tokens for place in preference]
    everything = sum(costs) + section.heading_tokens if pieces else sum(costs)
    fits = section.ceiling is None or everything <= section.ceiling
    # The heading and both fences are a group's line and no frame: the date alone needs none of them.
    shelf = Shelf(
        section.kind, costs, section.floor, section.ceiling, section.priority, 0, groups, (section.heading_tokens,),
        whole=(range(len(costs)), everything, None) if fits else None,
    )  # fmt: skip
    hidden = _hidden(slots, questions)
    return SessionCandidates(section, shelf, pieces, today, preference, hidden)


@lru_cache(maxsize=256)
def _preference(count: int, questions: int, today: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The order of preference among `count` slots that end in `questions`, and the group of each.

    Today first, then focus, filters and format; of the questions the newest first.
    """
    first = count - questions
    preference = (*range(first), *range(count - 1, first - 1, -1))
    groups = (_IN_FENCE,) * count
    return ((count, *preference), (_ALONE, *groups)) if today else (preference, groups)


def session_part(candidates: SessionCandidates) -> Part | None:
    """The slots that the budget took, and the date."""
    shelf, slots, preference = candidates.shelf, candidates.slots, candidates.preference
    if not shelf.taken:
        return None
    count, pieces, today = len(slots), slots, candidates.today
    if len(shelf.taken) < len(preference):
        places = sorted([preference[item] for item in shelf.taken])
        pieces = [slots[place] for place in places if place < count]
        today = today if places[-1] == count else None
    if pieces:
        *opening, closing = candidates.section.headings
        pieces = [*opening, *pieces, closing]
    if today is not None:
        pieces = [*pieces, today]
    return make_part(candidates.section.kind, pieces, shelf.charge)


def _slot_pieces(
    slots: Slots,
    questions: Sequence[RecentQuestion],
    labels: Mapping[str, str],
    settings: SessionSection,
    counter: TokenCounter,
) -> list[Piece]:
    found = []
    if slots.focus is not None:
        found.append(_slot(counter, _focus_line(slots.focus), "focus"))
    found += [_slot(counter, _filter_line(item, labels), f"filter/{item.key}") for item in slots.filters]
    if slots.answer_format:
        found.append(_slot(counter, f"- Answer format: {inline(slots.answer_format)}\n", "format"))
    most = settings.max_question_characters
    for question in questions:
        text = inline(question.text)
        if len(text) > most:
            text = inline(shorten(text, most))
        line = f"- Earlier question: {quoted(text)}\n"
        found.append(_slot(counter, line, f"question/{question.turn_id}"))
    return found


def _hidden(slots: Slots, questions: Sequence[RecentQuestion]) -> Mapping[str, int]:
    """How many hidden characters of slots are left out or made visible, by item id, where any are."""
    texts, focus = [slots.answer_format], slots.focus
    if focus is not None:
        texts += (focus.type, focus.id, focus.label)
    for item in slots.filters:
        texts += (item.key, item.value)
    for question in questions:
        texts.append(question.text)
    # Nearly always there are none, and one look at all texts together says so.
    return _hidden_by_slot(slots, questions) if hidden_characters(" ".join(texts)) else _NONE_HIDDEN


def _hidden_by_slot(slots: Slots, questions: Sequence[RecentQuestion]) -> dict[str, int]:
    found = {f"slot/question/{item.turn_id}": hidden_characters(item.text) for item in questions}
    found |= {f"slot/filter/{item.key}": hidden_characters(item.key, item.value) for item in slots.filters}
    found["slot/format"] = hidden_characters(slots.answer_format)
    if slots.focus is not None:
        found["slot/focus"] = hidden_characters(slots.focus.type, slots.focus.id, slots.focus.label)
    return {item_id: count for item_id, count in found.items() if count}


def _slot(counter: TokenCounter, line: str, ref: str) -> Piece:
    return piece(counter, line, f"slot/{ref}", Source(_SLOT, ref))


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
