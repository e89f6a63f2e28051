"""Values for IN come in lists of few lengths, and none is lost."""

import pytest

from storage.sql.bulk import VALUES, in_lists, marks


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 64, 200, VALUES, VALUES + 1, 3 * VALUES - 1])
def test_every_value_is_in_a_list_and_no_other(count: int) -> None:
    lists = list(in_lists(range(count)))
    assert {value for some in lists for value in some} == set(range(count))


def test_lengths_are_powers_of_two_up_to_the_most() -> None:
    lengths = {len(some) for count in range(3 * VALUES) for some in in_lists(range(count))}
    assert lengths == {1 << power for power in range(VALUES.bit_length())}


def test_there_is_a_mark_for_each_value() -> None:
    assert [marks(()), marks((1,)), marks((1, 2, 3))] == ["", "?", "?, ?, ?"]
