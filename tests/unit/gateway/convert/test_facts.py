"""fact.proto: what depends on the instant of reading, and what is unset."""

from datetime import UTC, datetime, timedelta

import pytest

from assemblers.records import Fact, FactKind, FactOrigin, FactState, Subject, UserRef, ValueType
from gateway.convert.facts import fact_to, invalidation_to, offered_of
from gateway.usecases.facts import Invalidation
from muniment.v1 import fact_pb2, types_pb2

NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)


def fact(state: FactState, expires: timedelta) -> Fact:
    return Fact(
        no=3, user=UserRef("acme", "ann"), subject=Subject(), key="plan", type=ValueType.TEXT, value="team",
        kind=FactKind.ATTRIBUTE, origin=FactOrigin.TOOL, source="crm", writer="w", confidence_permille=700,
        read_time=NOW, write_time=NOW, expire_time=NOW + expires, revision=3, state=state,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("state", "expires", "shown"),
    [
        (FactState.CURRENT, timedelta(microseconds=1), fact_pb2.FACT_STATE_CURRENT),
        (FactState.CURRENT, timedelta(0), fact_pb2.FACT_STATE_EXPIRED),
        (FactState.SUPERSEDED, timedelta(days=-1), fact_pb2.FACT_STATE_SUPERSEDED),
        (FactState.INVALIDATED, timedelta(days=-1), fact_pb2.FACT_STATE_INVALIDATED),
        (FactState.DELETED, timedelta(days=-1), fact_pb2.FACT_STATE_DELETED),
    ],
)
def test_only_what_is_in_force_can_expire_and_it_does_at_that_instant(
    state: FactState, expires: timedelta, shown: int
):
    message = fact_to(fact(state, expires), NOW)
    assert message.state == shown
    assert (message.WhichOneof("value") is None) == (state is FactState.DELETED)


@pytest.mark.parametrize(
    ("confidence", "permille"), [(0.0, 0), (0.7, 700), (0.0004, 0), (0.9996, 1000), (1.0, 1000)]
)
def test_confidence_is_kept_in_thousandths(confidence: float, permille: int):
    message = fact_pb2.Fact(text="x", origin=types_pb2.FACT_ORIGIN_TOOL, confidence=confidence)
    assert offered_of(message).confidence_permille == permille


def test_what_is_not_stated_is_left_to_the_gate():
    offered = offered_of(fact_pb2.Fact(text="x", origin=types_pb2.FACT_ORIGIN_TOOL))
    assert (offered.kind, offered.read_time, offered.expire_time) == (None, None, None)
    assert (offered.confidence_permille, offered.subject) == (1000, Subject())


def test_a_count_that_was_not_made_is_unset_and_not_zero():
    assert not invalidation_to(Invalidation((), None), NOW).HasField("affected_trace_count")
    assert invalidation_to(Invalidation((), 0), NOW).HasField("affected_trace_count")
