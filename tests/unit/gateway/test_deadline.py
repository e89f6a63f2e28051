"""Deadlines run on the monotonic clock that they are given."""

import pytest

from gateway.deadline import Deadline


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_remains_shrinks_and_is_never_negative():
    clock = Clock()
    deadline = Deadline.after(2.0, clock)
    clock.now += 1.5
    assert (deadline.remaining(), deadline.expired) == (0.5, False)
    clock.now += 5
    assert (deadline.remaining(), deadline.expired) == (0.0, True)


def test_a_share_is_a_fraction_of_what_is_left_and_a_reserve_is_kept_free():
    clock = Clock()
    deadline = Deadline.after(2.0, clock)
    clock.now += 1.0
    assert deadline.share(0.25).remaining() == 0.25
    assert deadline.reserve(0.3).remaining() == pytest.approx(0.7)
    assert deadline.share(0.5).seconds == 2.0
    clock.now += 9
    assert deadline.share(0.5).remaining() == 0.0
