"""Which facts may be rendered at an instant: superseded, invalidated, expired, unlisted and doubtful ones may not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from assemblers.decisions import NO_FIELD
from assemblers.plan import ALLOWLIST_FIELD, CONFIDENCE_FIELD, TTL_FIELD
from assemblers.policy.model import FactsSection, Policy
from assemblers.records import Fact, FactState, Reason, Subject

_BY_STATE = {
    FactState.SUPERSEDED: Reason.SUPERSEDED,
    FactState.INVALIDATED: Reason.INVALIDATED,
    FactState.DELETED: Reason.ERASED,
}

Verdict = tuple[Reason, int]
"""Why a fact may be rendered (WITHIN_BUDGET) or not, and the place of the field in the block's `policy_fields`."""

_FIT: Verdict = (Reason.WITHIN_BUDGET, NO_FIELD)


def judge(facts: Sequence[Fact], policy: Policy, settings: FactsSection, now: datetime) -> list[Verdict]:
    """A verdict for each fact. An expired reading still supersedes an older one: what it replaced was wrong then."""
    listed = {key.key for key in policy.facts.allowlist}
    latest = _latest(facts)
    return [_verdict(fact, latest, listed, settings.min_confidence_permille, now) for fact in facts]


def _verdict(
    fact: Fact, latest: dict[tuple[Subject, str], int], listed: set[str], confidence: int, now: datetime
) -> Verdict:
    if fact.state is not FactState.CURRENT:
        return _BY_STATE[fact.state], NO_FIELD
    if latest[fact.subject, fact.key] != fact.no:
        return Reason.SUPERSEDED, NO_FIELD
    if fact.expire_time <= now:
        return Reason.EXPIRED, TTL_FIELD
    if fact.key not in listed:
        return Reason.KEY_NOT_ALLOWED, ALLOWLIST_FIELD
    if fact.confidence_permille < confidence:
        return Reason.LOW_CONFIDENCE, CONFIDENCE_FIELD
    return _FIT


def _latest(facts: Sequence[Fact]) -> dict[tuple[Subject, str], int]:
    """The number of the current fact of each subject and key: the latest by read time, then by revision."""
    found: dict[tuple[Subject, str], Fact] = {}
    for fact in facts:
        if fact.state is not FactState.CURRENT:
            continue
        known = found.get((fact.subject, fact.key))
        if known is None or (known.read_time, known.revision) < (fact.read_time, fact.revision):
            found[fact.subject, fact.key] = fact
    return {place: fact.no for place, fact in found.items()}
