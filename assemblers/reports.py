"""How the budget came out, section by section, and what the prompt had to do without, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assemblers.assembly import BudgetReport, Conditions, Message, SectionReport
from assemblers.budget import Shelf
from assemblers.offers import Offers
from assemblers.plan import Plan
from assemblers.records import Degradation, Reason, SectionKind, SectionStatus
from assemblers.required import Required

_BYTE_ORDER = {kind: place for place, kind in enumerate(SectionKind)}
# Under Python 3.11 a member read off its enum is looked up by a Python function.
_PREFIX, _FACTS, _HISTORY, _QUESTION = (
    SectionKind.PREFIX, SectionKind.FACTS, SectionKind.HISTORY, SectionKind.QUESTION
)  # fmt: skip
_OK, _EMPTY = SectionStatus.OK, SectionStatus.EMPTY
_new = tuple.__new__

_EMPTY_QUERY_NOTE = "the question has no term to search by"
_HIDDEN_NOTE = "hidden characters were left out or made visible"


def budget_report(
    conditions: Conditions,
    plan: Plan,
    required: Required,
    offers: Offers,
    missing: Sequence[Degradation],
    used: int,
) -> BudgetReport:
    """The report of the whole prompt; `used` is in raw tokens. It has a line for each section, in byte order."""
    tokens = conditions.tokens
    revision, opened = required.revision, required.open
    has_tools = bool(opened.calls or opened.results or (revision is not None and revision.tools))
    shelves = {shelf.kind: shelf for shelf in offers.shelves}
    degraded = (
        {i.section: i.status for i in missing if i.status in _OF_SOURCES} if missing else _NONE_DEGRADED
    )
    lines = []
    for section in plan.sections:
        kind, budget = section.kind, section.section.budget
        ceiling = conditions.limit if budget.ceiling_tokens is None else budget.ceiling_tokens
        shelf = shelves.get(kind)
        if shelf is not None:
            status, raw, included, dropped, note = _offered(shelf, offers)
            status = _as_degraded(kind, status, degraded.get(kind)) if degraded else status
        else:
            status, raw, included, dropped, note = _other(kind, required, degraded)
        own = tokens.scaled(raw) if raw else 0
        line = kind, status, budget.floor_tokens, ceiling, own, included, dropped, note
        lines.append(_new(SectionReport, line))
    return BudgetReport(
        conditions.limit, tokens.scaled(used), tokens.exactness_for(has_tools), plan.counter_id,
        tokens.factor_permille, tuple(lines),
    )  # fmt: skip


def own_degradations(offers: Offers) -> list[Degradation]:
    """Sections that lost items to the whole budget. Of ranked excerpts it is only said where none is left."""
    found: list[Degradation] = []
    for shelf in offers.shelves:
        missing = len(shelf.costs) - len(shelf.taken)
        if not missing or shelf.short is not Reason.OVER_BUDGET:
            continue
        if shelf.taken and shelf.kind is SectionKind.HISTORY:
            continue
        status = SectionStatus.TRUNCATED if shelf.taken else SectionStatus.SKIPPED_BUDGET
        detail = f"{missing} of {len(shelf.costs)} items did not fit into the budget"
        found.append(Degradation(shelf.kind, status, Reason.OVER_BUDGET, detail))
    return found


def merged(degradations: Iterable[Degradation]) -> tuple[Degradation, ...]:
    """The degradations in byte order, each once."""
    found = set(degradations)
    return tuple(sorted(found, key=lambda item: (_BYTE_ORDER[item.section], item.reason, item.detail)))


def hidden_note(offers: Offers, messages: Sequence[Message]) -> tuple[str, ...]:
    """That hidden characters of items of the prompt were left out, with their number per item; none for none.

    Ids and numbers alone: what was hidden must not come back in what is said about it.
    """
    facts, history, material, session = offers.facts, offers.history, offers.material, offers.session
    kept: tuple[Mapping[str, int] | None, ...] = (
        facts[0].hidden if facts else None, history.history.archive.hidden if history else None,
        material.hidden if material else None, session.hidden if session else None,
    )  # fmt: skip
    if not any(kept):
        return ()
    counts = {item: count for known in kept if known for item, count in known.items()}
    shown = dict.fromkeys(
        span.item_id for message in messages for part in message.parts for span in part.spans
    )
    found = ", ".join(f"{item} {counts[item]}" for item in shown if item in counts)
    return (f"{_HIDDEN_NOTE}: {found}",) if found else ()


def warnings(degradations: Sequence[Degradation], orphans: Sequence[str]) -> tuple[str, ...]:
    """What is missing, for people."""
    found = [f"{item.section}: {item.detail}" for item in degradations]
    found += [
        f"{SectionKind.QUESTION}: {item} was left out, since a call and its result go together; record both"
        for item in orphans
    ]
    return tuple(found)


_NONE_DEGRADED: dict[SectionKind, SectionStatus] = {}
_OF_SOURCES = frozenset((SectionStatus.UNAVAILABLE, SectionStatus.STALE, SectionStatus.DENIED))
"""What a section can be for its source's sake; the others follow from the budget."""

_Line = tuple[SectionStatus, int, int, int, str]
"""Status, raw tokens, items included and dropped, note."""


def _offered(shelf: Shelf, offers: Offers) -> _Line:
    """A section that had something to offer to the budget."""
    kind, candidates, note = shelf.kind, len(shelf.costs), ""
    if kind is _FACTS and offers.facts is not None:
        candidates = len(offers.facts[0].rows)
    elif kind is _HISTORY and offers.history is not None:
        history = offers.history.history
        candidates = len(history.ranking.units)
        note = "" if history.query_terms else _EMPTY_QUERY_NOTE
    included = len(shelf.taken)
    return _status(shelf), shelf.used, included, candidates - included, note


def _status(shelf: Shelf) -> SectionStatus:
    if not shelf.costs:
        return _EMPTY
    # What lies beyond the most items of a section is no loss: that many were wanted.
    if shelf.stopped is None and len(shelf.taken) < len(shelf.costs):
        return SectionStatus.TRUNCATED if shelf.taken else SectionStatus.SKIPPED_BUDGET
    return _OK if shelf.taken else _EMPTY


def _as_degraded(kind: SectionKind, status: SectionStatus, source: SectionStatus | None) -> SectionStatus:
    """A section that had something to offer, or nothing since its source gave nothing."""
    if source is None:
        return status
    # The session's section has today's date, whatever became of the slots.
    whole = source is SectionStatus.STALE or kind is SectionKind.SESSION or status is _EMPTY
    return source if whole else status


def _other(kind: SectionKind, required: Required, degraded: Mapping[SectionKind, SectionStatus]) -> _Line:
    """A section that is required, or whose material is not there."""
    if kind is _QUESTION:
        opened = required.open
        included = 1 + sum([len(message.parts) for message in opened.messages])
        return _OK, required.question.tokens + opened.tokens, included, len(opened.orphans), ""
    if kind is _PREFIX and required.prefix is not None:
        included = len(required.prefix.block)
        return _OK if included else _EMPTY, required.prefix.tokens, included, 0, ""
    absent = _EMPTY if kind is _PREFIX else SectionStatus.UNAVAILABLE
    return degraded.get(kind, absent), 0, 0, 0, ""
