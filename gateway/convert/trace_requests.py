"""trace.proto: what is asked of traces, as records, and the rules between its fields."""

from assemblers.records import UserRef
from assemblers.trace.absence import Missed, MissedExcerpt, MissedFact, MissedKey, MissedText
from gateway.convert.instants import instant_of
from gateway.convert.types import subject_of
from gateway.errors import InvalidArgument
from gateway.names import (
    parse_excerpt_name,
    parse_fact_name,
    parse_policy_revision_name,
    policy_name,
)
from muniment.v1 import trace_pb2
from storage.ports import TraceSelector


def selector_of(request: trace_pb2.ListTracesRequest) -> TraceSelector:
    """Which traces are listed. Raises InvalidArgument where one field needs another."""
    _check_scope(request)
    start = instant_of(request.start_time) if request.HasField("start_time") else None
    end = instant_of(request.end_time) if request.HasField("end_time") else None
    if start is not None and end is not None and end <= start:
        raise InvalidArgument.of("end_time", "is not after start_time: the range is empty, give a later end")
    return TraceSelector(
        user_id=request.user_id or None,
        session_id=request.session_id or None,
        turn_id=request.turn_id or None,
        policy=_policy(request.policy) if request.policy else None,
        created_from=start,
        created_until=end,
    )


def missed_of(request: trace_pb2.ExplainAbsenceRequest) -> tuple[Missed, UserRef | None]:
    """What is missed, and whose it is where it has a name. Raises InvalidArgument for a name of another form."""
    match request.WhichOneof("item"):
        case "fact":
            fact = parse_fact_name("fact", request.fact)
            return MissedFact(fact.no), fact.user
        case "excerpt":
            excerpt = parse_excerpt_name("excerpt", request.excerpt)
            return MissedExcerpt(excerpt.no), excerpt.user
        case "fact_key":
            return MissedKey(request.fact_key.key, subject_of(request.fact_key.subject)), None
        case _:
            return MissedText(request.text), None


def _check_scope(request: trace_pb2.ListTracesRequest) -> None:
    for field, within in (("session_id", "user_id"), ("turn_id", "session_id")):
        if getattr(request, field) and not getattr(request, within):
            raise InvalidArgument.of(field, f"is known only within its {within}: set {within} too")


def _policy(name: str) -> str:
    """The name in its one spelling, as traces have it."""
    parsed = parse_policy_revision_name("policy", name)
    return policy_name(parsed.tenant_id, parsed.policy_id, parsed.digest)
