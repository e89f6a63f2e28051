"""Commitments by number: whole columns at once, and exactly what a loop over them would give."""

from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.trace.commitments import Commitments


def of_number(number: int) -> bytes:
    return sha256(str(number).encode()).digest()


def known(*numbers: int) -> Commitments:
    return Commitments({number: of_number(number) for number in numbers})


def int32s(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(numbers, np.int32)


INT32S = st.integers(-(2**31), 2**31 - 1)


@given(
    st.sets(st.integers(1, 12) | st.integers(1, 2**31 - 1)),
    st.lists(st.integers(-2, 14) | INT32S, max_size=8),
)
def test_a_column_gives_what_its_numbers_give_one_by_one(numbers: set[int], asked: list[int]):
    commitments = known(*numbers)
    missing = [number for number in asked if number not in numbers]
    if not missing:
        assert commitments.of(int32s(*asked)) == b"".join(map(of_number, asked))
    else:
        with pytest.raises(KeyError) as caught:
            commitments.of(int32s(*asked))
        assert caught.value.args == (missing[0],)


@pytest.mark.parametrize("numbers", [(3, 4, 5), (3, 5, 9)])
@pytest.mark.parametrize("asked", [2, 6, 0, -1, 2**31 - 1, -(2**31)])
def test_a_number_beside_the_known_ones_is_missing(numbers: tuple[int, ...], asked: int):
    with pytest.raises(KeyError, match=str(asked)):
        known(*numbers).of(int32s(numbers[0], asked))


def test_the_same_column_is_answered_from_what_is_kept_and_another_is_not():
    commitments, column = known(1, 2, 3), int32s(2, 1, 3)
    assert commitments.of(column) is commitments.of(column)
    assert commitments.of(int32s(3, 2, 1)) == of_number(3) + of_number(2) + of_number(1)


def test_a_commitment_of_another_size_is_refused_by_number():
    with pytest.raises(ValueError, match="commitment of 7 has not 32 bytes"):
        Commitments({1: bytes(32), 7: bytes(31)})
