"""The chain: every change, removal and swap is found; a cut-off end only against a known head."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.records import Excerpt, Fact, FactKind, FactOrigin, Role, Subject, UserRef, ValueType
from storage.ledger import (
    GENESIS,
    Break,
    Flaw,
    commitment,
    excerpt_content,
    fact_content,
    seal,
    session_pseudonym,
    turn_pseudonym,
    user_pseudonym,
    verify,
)
from storage.ports import ExcerptDraft, FactDraft, Seal

NOW = datetime(2026, 11, 29, tzinfo=UTC)


@dataclass(frozen=True)
class Link:
    record: bytes
    seal: Seal


def chain(*records: bytes) -> list[Link]:
    links: list[Link] = []
    previous = GENESIS
    for sequence, record in enumerate(records, 1):
        links.append(Link(record, seal(previous, sequence, record)))
        previous = links[-1].seal.record_hash
    return links


def test_a_seal_is_the_hash_of_the_former_hash_and_the_record():
    assert seal(GENESIS, 1, b"abc") == Seal(1, GENESIS, sha256(bytes(32) + b"abc").digest())


def test_an_untouched_chain_holds():
    links = chain(b"a", b"b", b"c")
    assert verify(links) is None
    assert verify(links, head=links[-1].seal) is None
    assert verify([]) is None


@given(
    records=st.lists(st.binary(min_size=1, max_size=30), min_size=2, max_size=8, unique=True),
    data=st.data(),
)
def test_any_changed_byte_any_removal_and_any_swap_is_found_at_its_place(
    records: list[bytes], data: st.DataObject
):
    links = chain(*records)
    at = data.draw(st.integers(0, len(links) - 1))
    bit = data.draw(st.integers(0, len(records[at]) * 8 - 1))
    changed = bytearray(records[at])
    changed[bit // 8] ^= 1 << bit % 8
    assert verify([*links[:at], Link(bytes(changed), links[at].seal), *links[at + 1 :]]) == Break(
        at + 1, Flaw.CHANGED
    )
    if at < len(links) - 1:
        assert verify([*links[:at], *links[at + 1 :]]) == Break(at + 1, Flaw.MISSING)
        swapped = [*links[:at], links[at + 1], links[at], *links[at + 2 :]]
        assert verify(swapped) == Break(at + 1, Flaw.MISSING)


def test_records_that_trade_places_with_their_seals_kept_are_changed():
    first, second = chain(b"a", b"b")
    assert verify([Link(second.record, first.seal), Link(first.record, second.seal)]) == Break(
        1, Flaw.CHANGED
    )


def test_a_repeated_record_is_misplaced():
    first, second = chain(b"a", b"b")
    assert verify([first, first, second]) == Break(2, Flaw.MISPLACED)


def test_a_record_of_another_chain_is_misplaced():
    own, other = chain(b"a", b"b"), chain(b"x", b"y")
    assert verify([own[0], other[1]]) == Break(2, Flaw.MISPLACED)


def test_a_changed_seal_is_found():
    first, second = chain(b"a", b"b")
    forged = replace(second.seal, record_hash=bytes(32))
    assert verify([first, Link(b"b", forged)]) == Break(2, Flaw.CHANGED)
    forged = replace(second.seal, previous_hash=bytes(31) + b"\1")
    assert verify([first, Link(b"b", forged)]) == Break(2, Flaw.CHANGED)


def test_a_cut_off_end_shows_only_against_a_known_head():
    links = chain(b"a", b"b", b"c")
    assert verify(links[:2]) is None
    assert verify(links[:2], head=links[2].seal) == Break(3, Flaw.TRUNCATED)
    assert verify([], head=links[2].seal) == Break(1, Flaw.TRUNCATED)


def test_a_chain_written_anew_shows_only_against_a_known_head():
    known = chain(b"a", b"b", b"c")[1].seal
    forged = chain(b"a", b"B", b"c")
    assert verify(forged) is None
    assert verify(forged, head=known) == Break(2, Flaw.REWRITTEN)


def test_a_chain_can_be_verified_in_runs():
    links = chain(b"a", b"b", b"c", b"d")
    assert verify(links[2:], after=links[1].seal, head=links[3].seal) is None
    assert verify(links[2:], after=links[0].seal) == Break(2, Flaw.MISSING)
    assert verify(links[2:]) == Break(1, Flaw.MISSING)
    assert verify(chain(b"x", b"y", b"z")[2:], after=links[1].seal) == Break(3, Flaw.MISPLACED)


def test_an_erased_person_leaves_a_chain_that_verifies():
    """Content and salts are not in the records, so nothing of the chain changes when they go."""
    salt = bytes(16)
    links = chain(b"record with " + commitment(salt, b"plan: team"))
    del salt
    assert verify(links) is None


def test_a_commitment_is_the_salted_hash_and_refuses_a_salt_of_another_size():
    assert commitment(b"s" * 16, b"text") == sha256(b"s" * 16 + b"text").digest()
    assert commitment(b"t" * 16, b"text") != commitment(b"s" * 16, b"text")
    with pytest.raises(ValueError, match="16 bytes, not 15"):
        commitment(b"s" * 15, b"text")


def test_pseudonyms_are_keyed_and_never_meet():
    secret = "ab" * 16
    found = {
        user_pseudonym(secret),
        session_pseudonym(secret, "s"),
        session_pseudonym(secret, "s2"),
        turn_pseudonym(secret, "s", "1t"),
        turn_pseudonym(secret, "s1", "t"),
        turn_pseudonym(secret, "", "s"),
        user_pseudonym("cd" * 16),
        session_pseudonym("cd" * 16, "s"),
    }
    assert len(found) == 8
    assert all(len(name) == 32 and secret not in name for name in found)
    assert session_pseudonym(secret, "s") == session_pseudonym(secret, "s")


def draft() -> FactDraft:
    return FactDraft(
        Subject("account", "A"), "plan", ValueType.TEXT, "team", FactKind.ATTRIBUTE, FactOrigin.TOOL, "crm",
        "agent", 1000, NOW, NOW + timedelta(days=1), "t1",
    )  # fmt: skip


def test_a_stored_fact_has_the_content_of_its_draft_whatever_became_of_it():
    given_draft = draft()
    names = FactDraft.__dataclass_fields__
    stored = Fact(
        no=7, user=UserRef("t", "u"), write_time=NOW, revision=3, superseded_by=9, commitment=b"x",
        **{name: getattr(given_draft, name) for name in names},
    )  # fmt: skip
    assert fact_content(stored) == fact_content(given_draft)
    assert fact_content(given_draft) == (
        b'["muniment/fact/1","account","A","plan","TEXT","team","ATTRIBUTE","TOOL","crm","agent",1000,'
        b'1795910400000000,1795996800000000,"t1"]'
    )


@pytest.mark.parametrize(
    "change",
    [
        {"subject": Subject("account", "B")},
        {"key": "plans"},
        {"value": "Team"},
        {"kind": FactKind.PREFERENCE},
        {"origin": FactOrigin.STATED},
        {"source": "crm2"},
        {"writer": "agent2"},
        {"confidence_permille": 999},
        {"read_time": NOW + timedelta(microseconds=1)},
        {"expire_time": NOW},
        {"source_turn": ""},
    ],
)
def test_whatever_a_fact_says_changes_its_content(change: dict[str, object]):
    changed = replace(draft(), **change)  # type: ignore[arg-type]  # the keys are fields of FactDraft
    assert fact_content(changed) != fact_content(draft())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((ValueType.TEXT, "1"), (ValueType.INTEGER, 1)),
        ((ValueType.INTEGER, 1), (ValueType.NUMBER, 1.0)),
        ((ValueType.FLAG, True), (ValueType.INTEGER, 1)),
        ((ValueType.INSTANT, NOW), (ValueType.INTEGER, 1795910400000000)),
    ],
)
def test_values_of_different_types_have_different_content(
    one: tuple[ValueType, str | int | float | bool | datetime],
    other: tuple[ValueType, str | int | float | bool | datetime],
):
    contents = {fact_content(replace(draft(), type=kind, value=value)) for kind, value in (one, other)}
    assert len(contents) == 2


def test_a_stored_excerpt_has_the_content_of_its_draft():
    given_draft = ExcerptDraft(2, "t1", "USER", "Ann", "grüezi 🙂", NOW, {"gruezi": 1})
    stored = Excerpt(5, 1, 2, "s1", NOW, "t1", Role.USER, "Ann", "grüezi 🙂", NOW, {}, b"x")
    assert excerpt_content("s1", NOW, given_draft) == excerpt_content("s1", NOW, stored)
    assert excerpt_content("s1", NOW, given_draft) != excerpt_content("s2", NOW, given_draft)
    assert "grüezi 🙂".encode() in excerpt_content("s1", NOW, stored)
