"""The breaker opens after enough failures in a row, or after a second of nothing else, and closes with a success."""

from storage.redis.breaker import Breaker


class Clock:
    def __init__(self) -> None:
        self.seconds = 50.0

    def __call__(self) -> float:
        return self.seconds


def test_the_fifth_failure_in_a_row_opens_it() -> None:
    breaker = Breaker(Clock())
    assert [breaker.failed() for _ in range(5)] == [False] * 4 + [True]
    assert breaker.is_open


def test_a_success_in_between_starts_the_count_anew() -> None:
    breaker = Breaker(Clock())
    for _ in range(3):
        for _ in range(4):
            breaker.failed()
        breaker.succeeded()
    assert not breaker.is_open


def test_a_second_of_failures_only_opens_it() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    breaker.failed()
    clock.seconds += 0.999
    assert not breaker.failed()
    clock.seconds += 0.001
    assert breaker.failed()


def test_the_second_counts_from_the_first_failure_after_a_success() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    breaker.failed()
    clock.seconds += 0.9
    breaker.succeeded()
    clock.seconds += 0.9
    assert not breaker.failed()


def test_it_opens_once_however_many_fail_after_that() -> None:
    breaker = Breaker(Clock())
    for _ in range(5):
        breaker.failed()
    assert not breaker.failed()
    assert breaker.is_open


def test_a_success_closes_it() -> None:
    breaker = Breaker(Clock())
    for _ in range(5):
        breaker.failed()
    breaker.succeeded()
    assert not breaker.is_open
    assert not breaker.failed()
