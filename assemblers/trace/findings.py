"""The answer to "why is it not there", and the cases in which its whole section was missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from assemblers.policy.model import PolicyRevision
from assemblers.records import Reason, SectionKind, SectionStatus
from assemblers.trace.candidates import Candidate
from assemblers.trace.record import TraceContent

SectionGone = tuple[Reason | None, str, str]
"""Why something was not considered at all: reason, policy field, remedy."""

_MISSING = (SectionStatus.UNAVAILABLE, SectionStatus.EMPTY)


class Finding(StrEnum):
    """What a look at the trace and the records showed."""

    PRESENT = "PRESENT"
    EXCLUDED = "EXCLUDED"
    NOT_CONSIDERED = "NOT_CONSIDERED"
    RECORDED_LATER = "RECORDED_LATER"
    NOT_ON_RECORD = "NOT_ON_RECORD"


@dataclass(frozen=True, slots=True)
class Absence:
    """Why one thing is absent. `reason` is None where the finding says it all; `policy_field` is the path of
    the field that decided, empty where none did; `remedy` is what would have let it in, in words, and
    `figures` what it rests on (numbers in digits, instants as `minute` or `second` writes them); `candidate`
    is None where the trace does not hold it."""

    finding: Finding
    item_id: str
    text: str
    reason: Reason | None
    policy_field: str
    remedy: str
    figures: Mapping[str, str] = field(default_factory=dict)
    candidate: Candidate | None = None


def minute(instant: datetime) -> str:
    """ISO 8601 in UTC to the minute, `2026-03-31T09:00Z`: what a person compares."""
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%MZ}"


def second(instant: datetime) -> str:
    """As `minute`, to the second: for instants that may lie within one minute."""
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def present(found: Candidate, text: str) -> Absence:
    """It is in the prompt after all."""
    remedy = f"{found.item_id} is in this prompt: ask why it is there instead."
    return Absence(Finding.PRESENT, found.item_id, text, found.reason, found.policy_field, remedy, {}, found)


def section_missing(kind: SectionKind, policy: PolicyRevision) -> SectionGone | None:
    """Reason, policy field and remedy where the policy has no such section; else None."""
    if policy.policy.section(kind) is not None:
        return None
    return None, "sections", f"The policy {policy.policy.policy_id} has no {kind} section: add one."


def degraded(kind: SectionKind, content: TraceContent) -> SectionGone | None:
    """Reason, policy field and remedy where the section's material was late or not to be had; else None."""
    for item in content.degradations:
        if item.section is kind and item.status in _MISSING:
            return (
                item.reason,
                "",
                f"The {kind} section was missing ({item.detail}): ask again, or allow more time.",
            )
    return None
