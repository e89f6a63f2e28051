"""Learns a model's factor from what its provider billed; pure, so a reported factor can be recomputed."""

from collections.abc import Sequence

from assemblers.tokens import UNSCALED

MIN_OBSERVATIONS = 20
"""With fewer, the 95th percentile by nearest rank is the maximum: one odd report would rule."""
MAX_INCREASE = 4
"""The factor never exceeds this many times the configured one: beyond it the reports count something else."""
WINDOW = 200
"""How many of the latest observations a caller should keep per tenant and model."""


def calibrated_factor(configured_permille: int, observations: Sequence[tuple[int, int]]) -> int:
    """The factor in permille: the configured one, or the 95th percentile of reported/estimated if greater.

    `observations` are pairs of the raw (unscaled) tokens of a prompt and the input tokens that the provider
    reported for it, cached ones included; pairs without a positive estimate say nothing and are left out.
    The factor only rises: an estimate that is too high wastes budget, one too low breaks the request.
    """
    ratios = sorted(-(-reported * UNSCALED // raw) for raw, reported in observations if raw > 0)
    if len(ratios) < MIN_OBSERVATIONS:
        return configured_permille
    return min(max(configured_permille, _percentile_95(ratios)), MAX_INCREASE * configured_permille)


def _percentile_95(ascending: Sequence[int]) -> int:
    rank = -(-len(ascending) * 95 // 100)
    return ascending[rank - 1]
