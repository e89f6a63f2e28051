"""session.proto: turns and slots to store in, sessions out."""

from datetime import datetime

from assemblers.records import SessionRef
from gateway.convert.instants import optional_to
from gateway.convert.types import session_of, session_to, slots_of, slots_to, turn_of
from gateway.errors import NotFound
from gateway.names import excerpt_name, parse_trace_name
from gateway.usecases.recording import TurnBatch, TurnsRecorded
from gateway.usecases.sessions import Ending, SessionView, SlotUpdate
from muniment.v1 import session_pb2


def batch_of(request: session_pb2.RecordTurnsRequest, now: datetime) -> TurnBatch:
    """The turns to record. Raises InvalidArgument, and NotFound for another tenant's trace."""
    session = session_of(request.session)
    turns = tuple(turn_of(turn, now, f"turns[{i}]") for i, turn in enumerate(request.turns))
    return TurnBatch(session, turns, _trace_id(request.trace, session), request.policy)


def recorded_to(recorded: TurnsRecorded) -> session_pb2.RecordTurnsResponse:
    """What was recorded."""
    return session_pb2.RecordTurnsResponse(
        recorded_turns=recorded.recorded,
        duplicate_turns=recorded.duplicates,
        slots=slots_to(recorded.slots),
        warnings=recorded.warnings,
    )


def update_of(request: session_pb2.UpdateSlotsRequest) -> SlotUpdate:
    """The slots to set."""
    return SlotUpdate(
        session=session_of(request.session),
        paths=tuple(request.update_mask.paths),
        values=slots_of(request.slots),
        policy=request.policy,
        etag=request.etag,
    )


def view_to(view: SessionView) -> session_pb2.Session:
    """A session."""
    return session_pb2.Session(
        session=session_to(view.session),
        slots=slots_to(view.slots),
        expire_time=optional_to(view.expire_time),
        etag=view.etag,
    )


def ending_to(ending: Ending, session: SessionRef) -> session_pb2.EndSessionResponse:
    """What ending a session did."""
    return session_pb2.EndSessionResponse(
        ended_turns=ending.turns,
        archived=ending.archived,
        excerpts=[excerpt_name(session.user, no) for no in ending.excerpts],
    )


def _trace_id(name: str, session: SessionRef) -> str:
    if not name:
        return ""
    trace = parse_trace_name("trace", name)
    if trace.tenant_id != session.tenant_id:
        raise NotFound
    return trace.trace_id
