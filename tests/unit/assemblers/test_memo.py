"""The memo goes by identity, keeps what it knows alive, and forgets within bounds."""

from collections.abc import Callable

from assemblers.memo import IdentityMemo


def always(number: int) -> Callable[[], int]:
    return lambda: number


def test_equal_objects_are_not_the_same_object():
    memo: IdentityMemo[str] = IdentityMemo(most=8)
    one, two = [1], [1]
    assert memo.get((one,), (), lambda: "one") == "one"
    assert memo.get((two,), (), lambda: "two") == "two"
    assert memo.get((one,), (), lambda: "again") == "one"


def test_numbers_are_part_of_the_key():
    memo: IdentityMemo[int] = IdentityMemo(most=8)
    thing = object()
    assert [memo.get((thing,), (number,), always(number)) for number in (1, 2, 1)] == [1, 2, 1]


def test_it_holds_at_most_so_many_and_never_answers_for_another_object():
    memo: IdentityMemo[int] = IdentityMemo(most=3)
    for number in range(1000):
        assert memo.get(([number],), (), always(number)) == number
