"""One assembly under way, as a record, and what is made of it: conditions for the core, the draft of its trace."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from assemblers.assembly import Assembly, Conditions, TurnInput
from assemblers.records import Degradation, SessionRef, Slots, UserRef
from assemblers.sections.facts import PreparedFacts
from assemblers.sections.history import HistoryInput
from assemblers.trace.capture import CapturedTrace
from assemblers.trace.commitments import Commitments
from assemblers.trace.record import Asked
from gateway import telemetry
from gateway.usecases.opening import Opening
from gateway.usecases.requests import ContextRequest
from gateway.usecases.resolution import Resolved
from storage.ports import Epochs, TraceDraft

MOST_BREAKPOINTS = 4
"""Marked where the provider caches by itself and has no limit of its own: they tell where the prefix stays equal."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A prompt with what it was made from. `captured` is None for one that was answered before, `seen` where nobody
    could say what is current."""

    session: SessionRef
    policy: str
    trace_id: str
    assembly: Assembly
    captured: CapturedTrace | None = None
    seen: Epochs | None = None


# A named tuple is made four times faster than a frozen dataclass, and each call makes one.
class Work(NamedTuple):
    """One assembly under way: everything that was resolved, read and gathered for it."""

    request: ContextRequest
    user: UserRef
    resolved: Resolved
    conditions: Conditions
    turn: TurnInput
    opening: Opening
    slots: Slots
    degradations: tuple[Degradation, ...]
    facts: PreparedFacts | None
    fact_commitments: Commitments
    history: HistoryInput | None
    excerpt_commitments: Commitments


def conditions_of(request: ContextRequest, resolved: Resolved, now: datetime) -> Conditions:
    """What the core is to go by."""
    most = resolved.profile.cache.max_breakpoints or MOST_BREAKPOINTS
    return Conditions(
        policy=resolved.policy, now=now, zone=ZoneInfo(request.time_zone), tokens=resolved.profile.tokens,
        limit=resolved.limit, formats=request.formats,
        max_breakpoints=max(0, most - request.caller_breakpoints),
    )  # fmt: skip


def asked_of(work: Work) -> Asked:
    """What the caller asked for, as the trace keeps it."""
    request, profile = work.request, work.resolved.profile
    return Asked(
        policy=request.policy, provider=profile.provider, model=profile.model,
        max_input_tokens=request.budget.max_input_tokens,
        reserve_output_tokens=request.budget.reserve_output_tokens,
        labels=request.labels,
        otel_trace_id=telemetry.current_trace_id(),
    )  # fmt: skip


def draft_of(work: Work, answer: Answer) -> TraceDraft:
    """The trace of an answer that was captured, before it is sealed."""
    request = work.request
    assert answer.captured is not None
    keeps = work.resolved.policy.policy.archive.keep_turns
    return TraceDraft(
        trace_id=answer.trace_id, session=request.session, turn_id=request.turn.turn_id, policy=answer.policy,
        create_time=work.conditions.now, record=answer.captured.record, content=answer.captured.content,
        body_sha256=request.body_sha256, turn=request.turn if keeps else None, request_id=request.request_id,
    )  # fmt: skip
