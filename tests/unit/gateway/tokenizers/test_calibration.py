"""Factors learnt from billed usage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tokenizers import MIN_OBSERVATIONS, calibrated_factor

pairs = st.tuples(st.integers(0, 100_000), st.integers(0, 10_000_000))


def test_too_few_observations_change_nothing():
    assert calibrated_factor(1250, [(100, 300)] * (MIN_OBSERVATIONS - 1)) == 1250
    assert calibrated_factor(1250, [(100, 300)] * MIN_OBSERVATIONS) == 3000


def test_the_95th_percentile_is_the_nearest_rank():
    observations = [(1000, 1000 + number) for number in range(1, 101)]
    assert calibrated_factor(1000, observations) == 1095


def test_one_outlier_in_twenty_does_not_rule():
    assert calibrated_factor(1250, [(100, 130)] * 19 + [(100, 10_000)]) == 1300


def test_a_ratio_is_rounded_up():
    assert calibrated_factor(1000, [(3, 4)] * 20) == 1334


def test_the_factor_never_falls():
    assert calibrated_factor(1800, [(100, 90)] * 50) == 1800


def test_the_factor_is_clamped_at_four_times_the_configured_one():
    assert calibrated_factor(1250, [(10, 1_000_000)] * 50) == 5000


def test_observations_without_an_estimate_are_left_out():
    assert calibrated_factor(1250, [(0, 500)] * 50 + [(100, 200)] * (MIN_OBSERVATIONS - 1)) == 1250


@given(st.integers(1000, 4000), st.lists(pairs, max_size=60))
def test_the_factor_stays_between_its_bounds_and_ignores_order(
    configured: int, observed: list[tuple[int, int]]
):
    factor = calibrated_factor(configured, observed)
    assert configured <= factor <= 4 * configured
    assert factor == calibrated_factor(configured, observed[::-1])


@pytest.mark.parametrize("observations", [[(100, 150)] * 40, [(100, 150 + n) for n in range(40)]])
def test_at_least_95_percent_of_the_observed_prompts_would_have_fitted(observations: list[tuple[int, int]]):
    factor = calibrated_factor(1250, observations)
    fitted = sum(raw * factor >= reported * 1000 for raw, reported in observations)
    assert fitted * 100 >= 95 * len(observations)
