"""How the budget came out, section by section, and what the prompt had to do without, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assemblers.assembly import BudgetReport, CandidateBlock, Conditions, SectionReport
from assemblers.budget import Shelf
from assemblers.decisions import CODE, INCLUDED
from assemblers.offers import Offers
from assemblers.policy.model import Section
from assemblers.records import Degradation, Reason, SectionKind, SectionStatus
from assemblers.required import Required

_BYTE_ORDER = {kind: place for place, kind in enumerate(SectionKind)}
_ROOM_REASONS = (Reason.OVER_BUDGET, Reason.OVER_CEILING)
_EMPTY_QUERY_NOTE = "the question has no term to search by"
_REQUIRED = (SectionKind.PREFIX, SectionKind.QUESTION)


def budget_report(
    conditions: Conditions, required: Required, offers: Offers, sections: tuple[SectionReport, ...], used: int
) -> BudgetReport:
    """The report of the whole prompt; `used` is in raw tokens."""
    tokens = conditions.tokens
    revision = required.revision
    has_tools = bool(required.open.calls or required.open.results or (revision is not None and revision.tools))
    return BudgetReport(
        conditions.limit, tokens.scaled(used), tokens.exactness_for(has_tools), tokens.counter.id,
        tokens.factor_permille, sections,
    )  # fmt: skip


def section_reports(
    conditions: Conditions,
    required: Required,
    offers: Offers,
    blocks: Sequence[CandidateBlock],
    degradations: Iterable[Degradation],
) -> tuple[SectionReport, ...]:
    """A line for each section of the policy, in byte order."""
    shelves = {shelf.kind: shelf for shelf in offers.shelves()}
    degraded = {item.section: item.status for item in degradations}
    policy_sections = sorted(conditions.policy.policy.sections, key=lambda section: _BYTE_ORDER[section.kind])
    reports = []
    for section in policy_sections:
        own = [block for block in blocks if block.section is section.kind]
        if section.kind in _REQUIRED:
            reports.append(_required_report(conditions, required, section, own, degraded))
        else:
            reports.append(_report(conditions, section, shelves.get(section.kind), own, degraded, offers))
    return tuple(reports)


def own_degradations(offers: Offers) -> list[Degradation]:
    """Sections that lost items to the whole budget. Of ranked excerpts it is only said where none is left."""
    found = []
    for shelf in offers.shelves():
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
    return tuple(sorted(set(degradations), key=lambda item: (_BYTE_ORDER[item.section], item.reason, item.detail)))


def warnings(degradations: Sequence[Degradation], orphans: Sequence[str]) -> tuple[str, ...]:
    """What is missing, for people."""
    found = [f"{item.section}: {item.detail}" for item in degradations]
    found += [
        f"{SectionKind.QUESTION}: {item} was left out, since a call and its result go together; record both"
        for item in orphans
    ]
    return tuple(found)


def _required_report(
    conditions: Conditions,
    required: Required,
    section: Section,
    blocks: Sequence[CandidateBlock],
    degraded: dict[SectionKind, SectionStatus],
) -> SectionReport:
    raw = sum(int(block.tokens.sum()) for block in blocks)
    included = sum(len(block) for block in blocks)
    status = SectionStatus.OK if included else degraded.get(section.kind, SectionStatus.EMPTY)
    dropped = len(required.open.orphans) if section.kind is SectionKind.QUESTION else 0
    used = conditions.tokens.scaled(raw)
    return SectionReport(section.kind, status, *_bounds(conditions, section), used, included, dropped)


def _report(
    conditions: Conditions,
    section: Section,
    shelf: Shelf | None,
    blocks: Sequence[CandidateBlock],
    degraded: dict[SectionKind, SectionStatus],
    offers: Offers,
) -> SectionReport:
    bounds = _bounds(conditions, section)
    if shelf is None:
        return SectionReport(section.kind, degraded.get(section.kind, SectionStatus.UNAVAILABLE), *bounds, 0, 0, 0)
    included = sum(int(np.count_nonzero(block.outcomes == INCLUDED)) for block in blocks)
    dropped = sum(len(block) for block in blocks) - included
    status = _status(shelf)
    history = offers.history.history if offers.history and section.kind is SectionKind.HISTORY else None
    note = _EMPTY_QUERY_NOTE if history is not None and not history.query_terms else ""
    return SectionReport(
        section.kind, status, *bounds, conditions.tokens.scaled(shelf.used), included, dropped, note
    )


def _status(shelf: Shelf) -> SectionStatus:
    seen = len(shelf.costs) if shelf.stopped is None else shelf.stopped
    if not shelf.costs:
        return SectionStatus.EMPTY
    if len(shelf.taken) >= seen:
        return SectionStatus.OK if shelf.taken else SectionStatus.EMPTY
    return SectionStatus.TRUNCATED if shelf.taken else SectionStatus.SKIPPED_BUDGET


def _bounds(conditions: Conditions, section: Section) -> tuple[int, int]:
    ceiling = section.budget.ceiling_tokens
    return section.budget.floor_tokens, conditions.limit if ceiling is None else ceiling
