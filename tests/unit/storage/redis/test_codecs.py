"""What goes to Redis comes back exactly, and what another release wrote is recognised as such."""

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.records import (
    Certainty,
    Fact,
    FactKind,
    FactOrigin,
    FactState,
    Filter,
    Focus,
    RecentQuestion,
    Slots,
    Subject,
    UserRef,
    ValueType,
)
from storage.ports import FactSnapshot
from storage.ports.answers import AnswerCopy
from storage.ports.epochs import Epochs
from storage.redis.answers import decode_answer, encode_answer
from storage.redis.facts_codec import decode_facts, encode_facts
from storage.redis.formats import UnknownFormat
from storage.redis.slots_codec import decode_slots, encode_slots

USER = UserRef("acme", "ann")

texts = st.text(st.characters(codec="utf-8"), max_size=20)
instants = st.datetimes(timezones=st.just(UTC)).map(lambda instant: instant.replace(fold=0))
numbers = st.integers(0, 2**63 - 1)
certainties = st.sampled_from(Certainty)

slots = st.builds(
    Slots,
    st.none() | st.builds(Focus, texts, texts, texts, certainties, texts, texts),
    st.lists(st.builds(Filter, texts, texts, certainties, texts, texts), max_size=3).map(tuple),
    texts,
    st.lists(st.builds(RecentQuestion, texts, texts), max_size=3).map(tuple),
)
facts = st.builds(
    Fact,
    no=numbers,
    user=st.just(USER),
    subject=st.builds(Subject, texts, texts),
    key=texts,
    type=st.sampled_from(ValueType),
    value=texts | st.integers() | st.floats(allow_nan=False) | st.booleans() | instants,
    kind=st.sampled_from(FactKind),
    origin=st.sampled_from(FactOrigin),
    source=texts,
    writer=texts,
    confidence_permille=st.integers(0, 1000),
    read_time=instants,
    write_time=instants,
    expire_time=instants,
    revision=numbers,
    source_turn=texts,
    state=st.sampled_from(FactState),
    superseded_by=numbers,
    invalidated_time=st.none() | instants,
    invalidation_reason=texts,
    commitment=st.binary(max_size=32),
)
snapshots = st.builds(FactSnapshot, numbers, st.lists(facts, max_size=2).map(tuple))
answers = st.builds(
    AnswerCopy, st.binary(max_size=32), st.binary(max_size=50), st.builds(Epochs, numbers, numbers, numbers)
)


@given(slots)
def test_slots_come_back(given_slots: Slots) -> None:
    back = decode_slots(encode_slots(given_slots))
    assert back == given_slots
    assert repr(back) == repr(given_slots)


@given(snapshots)
def test_facts_come_back_with_the_types_of_their_values(snapshot: FactSnapshot) -> None:
    back = decode_facts(USER, encode_facts(snapshot))
    assert back == snapshot
    # Equality takes 1, 1.0 and True for the same.
    assert repr(back) == repr(snapshot)


@given(answers)
def test_answers_come_back(copy: AnswerCopy) -> None:
    assert decode_answer(encode_answer(copy)) == copy


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[]",
        b'[2,null,[],"",[]]',
        b"[1]",
        b"nonsense",
        b"\xff",
        b"[1,1,1,1,1]",
        b'[1,[1,2],[],"",[]]',
    ],
)
def test_what_was_written_otherwise_is_of_an_unknown_format(raw: bytes) -> None:
    for decode in (decode_slots, lambda raw: decode_facts(USER, raw), decode_answer):
        with pytest.raises(UnknownFormat):
            decode(raw)
