"""Consistency tokens: opaque, exact, and no others than those that were given out."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.consistency import decode_token, encode_token
from gateway.errors import InvalidArgument
from storage.ports.epochs import Epochs

numbers = st.integers(0, 2**63 - 1)


@given(numbers, numbers, numbers)
def test_a_token_stands_for_its_epochs(facts: int, archive: int, tenant: int):
    epochs = Epochs(facts, archive, tenant)
    token = encode_token(epochs)
    assert decode_token("consistency.token", token) == epochs
    assert len(token) <= 64
    assert token.isascii()


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "not a token",
        "größer",
        "AAAA",
        encode_token(Epochs(1, 2, 3))[:-1],
        encode_token(Epochs(1, 2, 3)) + "A",
        encode_token(Epochs(1, 2, 3))[1:],
        "B" + encode_token(Epochs(1, 2, 3))[1:],
        encode_token(Epochs(1, 2, 3)).swapcase(),
    ],
)
def test_anything_else_is_refused_by_its_field_with_the_remedy(token: str):
    with pytest.raises(InvalidArgument) as refused:
        decode_token("request.consistency.token", token)
    assert refused.value.violations[0].field == "request.consistency.token"
    assert "leave consistency unset" in refused.value.message
    assert token not in refused.value.message or len(token) == 1


def test_a_token_of_a_later_form_is_refused():
    raw = bytearray(base64.urlsafe_b64decode(encode_token(Epochs()) + "="))
    assert raw[0] == 1
    raw[0] = 2
    with pytest.raises(InvalidArgument):
        decode_token("consistency.token", base64.urlsafe_b64encode(bytes(raw)).rstrip(b"=").decode())
