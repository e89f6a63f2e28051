"""What is sealed opens in its place only, unchanged, under its owner's key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.encryption import DataKey, UnknownKey
from storage.encryption.data_key import MAX_KEY_NO, OVERHEAD, new_secret
from storage.errors import StorageDamaged

SECRET = bytes(range(32))
KEY = DataKey({1: SECRET}, 1)
PLACE = b"5:facts"

contents = st.binary(max_size=300)
places = st.binary(max_size=60)


@given(contents, places)
def test_what_is_sealed_opens_in_its_place(content: bytes, place: bytes):
    assert KEY.open(place, KEY.seal(place, content)) == content


@given(contents, places, places)
def test_it_opens_in_no_other_place(content: bytes, place: bytes, other: bytes):
    if place != other:
        with pytest.raises(StorageDamaged):
            KEY.open(other, KEY.seal(place, content))


@given(contents, st.data())
def test_a_changed_byte_is_found_wherever_it_is(content: bytes, data: st.DataObject):
    sealed = bytearray(KEY.seal(PLACE, content))
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(StorageDamaged):
        KEY.open(PLACE, bytes(sealed))


@given(contents, st.data())
def test_a_shortened_or_lengthened_value_is_found(content: bytes, data: st.DataObject):
    sealed = KEY.seal(PLACE, content)
    cut = data.draw(st.integers(0, len(sealed) - 1))
    for changed in (sealed[:cut], sealed + b"\0"):
        with pytest.raises(StorageDamaged):
            KEY.open(PLACE, changed)


@given(st.binary(max_size=80))
def test_clear_content_is_never_given_out_as_if_it_had_been_sealed(content: bytes):
    with pytest.raises(StorageDamaged):
        KEY.open(PLACE, content)


def test_the_form_is_version_number_nonce_and_ciphertext():
    sealed = DataKey({7: SECRET}, 7).seal(PLACE, b"abc")
    assert sealed[:5] == b"\x01\x00\x00\x00\x07"
    assert len(sealed) == OVERHEAD + 3


def test_a_form_that_was_written_once_opens_for_ever():
    stored = bytes.fromhex(
        "0100000001000102030405060708090a0b336ab33bb684af7ead27f8f9918c0e08f16f385145021b795fe31499fdfbc0374f"
    )
    assert KEY.open(PLACE, stored) == b"the same for ever"


def test_equal_contents_give_different_ciphertexts():
    assert KEY.seal(PLACE, b"yes") != KEY.seal(PLACE, b"yes")


def test_another_owners_key_does_not_open_it():
    with pytest.raises(StorageDamaged):
        DataKey({1: new_secret()}, 1).open(PLACE, KEY.seal(PLACE, b"yes"))


def test_all_versions_open_and_the_chosen_one_seals():
    both = DataKey({1: SECRET, 2: new_secret()}, 2)
    assert both.open(PLACE, KEY.seal(PLACE, b"old")) == b"old"
    with pytest.raises(UnknownKey):
        KEY.open(PLACE, both.seal(PLACE, b"new"))


@given(contents, places, places)
def test_a_fingerprint_tells_contents_and_places_apart_and_nothing_else(
    content: bytes, place: bytes, other: bytes
):
    first = KEY.fingerprint(b"6:place1" + place, content)
    assert first == KEY.fingerprint(b"6:place1" + place, content)
    assert DataKey({1: new_secret()}, 1).fingerprint(b"6:place1" + place, content) != first
    assert KEY.fingerprint(b"6:place2" + other, content) != first


def test_fingerprints_stay_when_a_key_gets_a_new_version():
    rotated = DataKey({1: SECRET, 2: new_secret()}, 2)
    assert rotated.fingerprint(PLACE, b"body") == KEY.fingerprint(PLACE, b"body")


def test_the_highest_number_has_its_place():
    key = DataKey({MAX_KEY_NO: SECRET}, MAX_KEY_NO)
    assert key.open(PLACE, key.seal(PLACE, b"x")) == b"x"


def test_the_key_shows_nothing_of_itself():
    assert SECRET.hex() not in repr(KEY)
    assert str(SECRET) not in repr(KEY)
