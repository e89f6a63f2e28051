"""A fact's etag follows its state."""

from dataclasses import replace
from datetime import UTC, datetime

from assemblers.records import Fact, FactKind, FactOrigin, FactState, Subject, UserRef, ValueType
from storage.etags import fact_etag

NOW = datetime(2026, 11, 15, tzinfo=UTC)
FACT = Fact(
    1, UserRef("acme", "ann"), Subject(), "k", ValueType.TEXT, "v", FactKind.CONTEXT, FactOrigin.STATED, "chat",
    "agent", 1000, NOW, NOW, NOW, 1,
)  # fmt: skip


def test_every_change_of_state_changes_the_etag() -> None:
    states = [
        FACT,
        replace(FACT, state=FactState.SUPERSEDED, superseded_by=2),
        replace(FACT, state=FactState.SUPERSEDED, superseded_by=3),
        replace(FACT, state=FactState.INVALIDATED, invalidated_time=NOW),
        replace(FACT, state=FactState.DELETED),
    ]
    assert len({fact_etag(fact) for fact in states}) == len(states)


def test_an_unchanged_fact_keeps_its_etag() -> None:
    assert fact_etag(FACT) == fact_etag(replace(FACT))
    assert len(fact_etag(FACT)) == 16
