"""How the budget came out, section by section, and what the prompt had to do without, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assemblers.assembly import BudgetReport, Conditions, SectionReport
from assemblers.budget import Shelf
from assemblers.offers import Offers
from assemblers.plan import Plan, SectionPlan
from assemblers.records import Degradation, Reason, SectionKind, SectionStatus
from assemblers.required import Required

_BYTE_ORDER = {kind: place for place, kind in enumerate(SectionKind)}
_EMPTY_QUERY_NOTE = "the question has no term to search by"


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
    degraded = {item.section: item.status for item in missing}
    lines = []
    for section in plan.sections:
        shelf = shelves.get(section.kind)
        if shelf is not None:
            lines.append(_line(conditions, section, shelf, offers))
        else:
            lines.append(_line_without_shelf(conditions, section, required, degraded))
    return BudgetReport(
        conditions.limit, tokens.scaled(used), tokens.exactness_for(has_tools), tokens.counter.id,
        tokens.factor_permille, tuple(lines),
    )  # fmt: skip


def own_degradations(offers: Offers) -> list[Degradation]:
    """Sections that lost items to the whole budget. Of ranked excerpts it is only said where none is left."""
    found = []
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
    return tuple(
        sorted(set(degradations), key=lambda item: (_BYTE_ORDER[item.section], item.reason, item.detail))
    )


def warnings(degradations: Sequence[Degradation], orphans: Sequence[str]) -> tuple[str, ...]:
    """What is missing, for people."""
    found = [f"{item.section}: {item.detail}" for item in degradations]
    found += [
        f"{SectionKind.QUESTION}: {item} was left out, since a call and its result go together; record both"
        for item in orphans
    ]
    return tuple(found)


def _line(conditions: Conditions, section: SectionPlan, shelf: Shelf, offers: Offers) -> SectionReport:
    included = len(shelf.taken)
    candidates, note = len(shelf.costs), ""
    if section.kind is SectionKind.FACTS and offers.facts is not None:
        candidates = len(offers.facts[0].rows)
    elif section.kind is SectionKind.HISTORY and offers.history is not None:
        history = offers.history.history
        candidates = len(history.ranking.units)
        note = "" if history.query_terms else _EMPTY_QUERY_NOTE
    floor, ceiling = _bounds(conditions, section)
    used, dropped = conditions.tokens.scaled(shelf.used), candidates - included
    return SectionReport(section.kind, _status(shelf), floor, ceiling, used, included, dropped, note)


def _status(shelf: Shelf) -> SectionStatus:
    if not shelf.costs:
        return SectionStatus.EMPTY
    # What lies beyond the most items of a section is no loss: that many were wanted.
    wanted = len(shelf.costs) if shelf.stopped is None else len(shelf.taken)
    if len(shelf.taken) < wanted:
        return SectionStatus.TRUNCATED if shelf.taken else SectionStatus.SKIPPED_BUDGET
    return SectionStatus.OK if shelf.taken else SectionStatus.EMPTY


def _line_without_shelf(
    conditions: Conditions,
    section: SectionPlan,
    required: Required,
    degraded: Mapping[SectionKind, SectionStatus],
) -> SectionReport:
    """A section that is required, or whose material is not there."""
    floor, ceiling = _bounds(conditions, section)
    status = degraded.get(section.kind, SectionStatus.UNAVAILABLE)
    raw = included = dropped = 0
    if section.kind is SectionKind.PREFIX:
        status = degraded.get(section.kind, SectionStatus.EMPTY)
        if required.prefix is not None:
            raw, included = required.prefix.tokens, len(required.prefix.block)
            status = SectionStatus.OK if included else SectionStatus.EMPTY
    elif section.kind is SectionKind.QUESTION:
        opened = required.open
        raw = required.question.tokens + opened.tokens
        included = 1 + sum(len(message.parts) for message in opened.messages)
        status, dropped = SectionStatus.OK, len(opened.orphans)
    used = conditions.tokens.scaled(raw)
    return SectionReport(section.kind, status, floor, ceiling, used, included, dropped)


def _bounds(conditions: Conditions, section: SectionPlan) -> tuple[int, int]:
    budget = section.section.budget
    return budget.floor_tokens, conditions.limit if budget.ceiling_tokens is None else budget.ceiling_tokens
