from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.ranking.standard import standard_scores

VALUES = st.lists(st.integers(-(2**40) + 1, 2**40 - 1), min_size=2, max_size=60)


def exact(values):
    """Standard scores in millionths by whole numbers, to a millionth of a standard deviation."""
    count, total = len(values), sum(values)
    spread = count * sum(v * v for v in values) - total * total
    root = Fraction(isqrt(spread * 10**24), 10**12)
    return [float((count * v - total) * 1_000_000 / root) for v in values]


@given(VALUES.filter(lambda values: len(set(values)) > 1))
def test_scores_are_those_of_the_textbook(values):
    found = standard_scores(np.array(values, np.int64)).tolist()
    assert found == pytest.approx(exact(values), abs=0.51)


@given(VALUES, st.randoms())
def test_the_order_of_the_values_changes_no_score(values, random):
    places = list(range(len(values)))
    random.shuffle(places)
    straight = standard_scores(np.array(values, np.int64))
    mixed = standard_scores(np.array([values[place] for place in places], np.int64))
    assert mixed.tolist() == straight[places].tolist()


@pytest.mark.parametrize("values", [[], [5], [7, 7, 7], [-(2**39)] * 4])
def test_equal_values_score_nothing(values):
    assert standard_scores(np.array(values, np.int64)).tolist() == [0] * len(values)


def test_large_archives_of_large_scores_stay_exact():
    values = np.full(2**18, 2**39, np.int64)
    values[0] = 0
    scores = standard_scores(values)
    assert scores[0] == pytest.approx(-1e6 * (2**18 - 1) ** 0.5, abs=1)
    assert scores[1] == pytest.approx(1e6 / (2**18 - 1) ** 0.5, abs=1)
