"""fact.proto: offers in, facts, verdicts and invalidations out."""

from datetime import datetime

from assemblers.records import Fact, FactState, FactValue, UserRef, ValueType
from gateway.convert.enums import KIND_OF, KIND_TO, ORIGIN_OF, ORIGIN_TO, STATE_TO
from gateway.convert.instants import instant_of, instant_to, optional_of, optional_to
from gateway.convert.types import subject_of, subject_to, user_of, user_to
from gateway.errors import NotFound
from gateway.names import fact_name, parse_fact_name
from gateway.usecases.admission import OfferedFact, Place, Refusal
from gateway.usecases.facts import FactOutcome, Invalidation
from muniment.v1 import fact_pb2
from storage.etags import fact_etag
from storage.ports import FactDraft, FactSelector

MAX_INVALIDATED_SHOWN = 1000

_PLACE_TO = {place: fact_pb2.FactResult.Place.Value(f"PLACE_{place}") for place in Place}
_REFUSAL_TO = {r: fact_pb2.FactResult.RefusalReason.Value(f"REFUSAL_REASON_{r}") for r in Refusal}


def offered_of(message: fact_pb2.Fact) -> OfferedFact:
    """The fact as offered."""
    value_type, value = _value_of(message)
    return OfferedFact(
        subject=subject_of(message.subject),
        key=message.key,
        type=value_type,
        value=value,
        kind=KIND_OF.get(message.kind),
        origin=ORIGIN_OF[message.origin],
        source=message.source,
        writer=message.writer,
        confidence_permille=round(message.confidence * 1000) if message.HasField("confidence") else 1000,
        read_time=optional_of(message, "read_time"),
        expire_time=optional_of(message, "expire_time"),
        source_turn=message.source_turn,
    )


def fact_to(fact: Fact, now: datetime) -> fact_pb2.Fact:
    """The fact as it stands at `now`: a current one past its expiry is EXPIRED, a deleted one has no value."""
    message = fact_pb2.Fact(
        name=fact_name(fact.user, fact.no),
        user=user_to(fact.user),
        subject=subject_to(fact.subject),
        key=fact.key,
        kind=KIND_TO[fact.kind],
        origin=ORIGIN_TO[fact.origin],
        source=fact.source,
        source_turn=fact.source_turn,
        writer=fact.writer,
        confidence=fact.confidence_permille / 1000,
        read_time=instant_to(fact.read_time),
        write_time=instant_to(fact.write_time),
        expire_time=instant_to(fact.expire_time),
        state=_state(fact, now),
        superseded_by=fact_name(fact.user, fact.superseded_by) if fact.superseded_by else "",
        invalidate_time=optional_to(fact.invalidated_time),
        invalidation_reason=fact.invalidation_reason,
        etag=fact_etag(fact),
    )
    if fact.state is not FactState.DELETED:
        _set_value(message, fact.type, fact.value)
    return message


def outcome_to(outcome: FactOutcome, user: UserRef, now: datetime) -> fact_pb2.FactResult:
    """The verdict on an offered fact, with the fact as it is or would be stored."""
    verdict, written = outcome.verdict, outcome.written
    result = fact_pb2.FactResult(
        verdict=fact_pb2.FactResult.VERDICT_REFUSED
        if verdict.refusal
        else fact_pb2.FactResult.VERDICT_ACCEPTED,
        detail=verdict.detail,
        policy_field=verdict.policy_field,
        belongs_to=_PLACE_TO[verdict.belongs_to],
    )
    if verdict.refusal is not None:
        result.reason = _REFUSAL_TO[verdict.refusal]
    elif written is not None:
        result.fact.CopyFrom(fact_to(written.fact, now))
        result.superseded.extend(fact_name(user, fact.no) for fact in written.superseded)
        result.duplicate = written.duplicate
    elif verdict.draft is not None:
        result.fact.CopyFrom(_draft_to(verdict.draft, user, now))
    return result


def selector_of(request: fact_pb2.InvalidateFactsRequest) -> FactSelector:
    """Which facts to invalidate. Raises NotFound where the fact that is named is not the user's."""
    written_from, written_until = optional_of(request, "start_time"), optional_of(request, "end_time")
    match request.WhichOneof("selector"):
        case "name":
            name = parse_fact_name("name", request.name)
            if name.user != user_of(request.user):
                raise NotFound
            return FactSelector(no=name.no, written_from=written_from, written_until=written_until)
        case "key":
            return FactSelector(key=request.key, written_from=written_from, written_until=written_until)
        case "source":
            return FactSelector(source=request.source, written_from=written_from, written_until=written_until)
        case _:
            return FactSelector(writer=request.writer, written_from=written_from, written_until=written_until)


def listing_of(request: fact_pb2.ListFactsRequest) -> FactSelector:
    """Which facts to list."""
    return FactSelector(
        subject=subject_of(request.subject) if request.HasField("subject") else None,
        key=request.key or None,
        source=request.source or None,
        writer=request.writer or None,
        include_retired=request.include_retired,
    )


def invalidation_to(invalidation: Invalidation, now: datetime) -> fact_pb2.InvalidateFactsResponse:
    """The answer; of very many facts the first thousand."""
    return fact_pb2.InvalidateFactsResponse(
        invalidated=[fact_to(fact, now) for fact in invalidation.facts[:MAX_INVALIDATED_SHOWN]],
        invalidated_count=len(invalidation.facts),
        affected_trace_count=invalidation.affected_traces,
    )


def _draft_to(draft: FactDraft, user: UserRef, now: datetime) -> fact_pb2.Fact:
    """The fact that a draft would become, without name, write time and etag."""
    message = fact_pb2.Fact(
        user=user_to(user),
        subject=subject_to(draft.subject),
        key=draft.key,
        kind=KIND_TO[draft.kind],
        origin=ORIGIN_TO[draft.origin],
        source=draft.source,
        source_turn=draft.source_turn,
        writer=draft.writer,
        confidence=draft.confidence_permille / 1000,
        read_time=instant_to(draft.read_time),
        expire_time=instant_to(draft.expire_time),
        state=fact_pb2.FACT_STATE_EXPIRED if draft.expire_time <= now else fact_pb2.FACT_STATE_CURRENT,
    )
    _set_value(message, draft.type, draft.value)
    return message


def _state(fact: Fact, now: datetime) -> fact_pb2.FactState.ValueType:
    if fact.state is FactState.CURRENT and fact.expire_time <= now:
        return fact_pb2.FACT_STATE_EXPIRED
    return STATE_TO[fact.state]


def _value_of(message: fact_pb2.Fact) -> tuple[ValueType, FactValue]:
    which = message.WhichOneof("value") or "text"
    value: FactValue = instant_of(message.instant) if which == "instant" else getattr(message, which)
    return ValueType(which.upper()), value


def _set_value(message: fact_pb2.Fact, value_type: ValueType, value: FactValue) -> None:
    if isinstance(value, datetime):
        message.instant.CopyFrom(instant_to(value))
    else:
        setattr(message, value_type.lower(), value)
