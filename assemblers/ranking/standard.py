"""Standard scores of whole numbers, the same on every machine.

Sums of floats depend on the order of adding, which differs between processors. Here they are sums of integers; what
follows are single steps that IEEE 754 rounds in one way only.
"""

from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

MICROS: Final[int] = 1_000_000

_LOW_BITS: Final[int] = 18
_LOW: Final[int] = (1 << _LOW_BITS) - 1


def standard_scores(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """(value - mean) / standard deviation in millionths; zeros where all are equal.

    Values stay below 2**40 and there are at most 2**18 of them.
    """
    count, total = len(values), int(values.sum())
    spread = count * _sum_of_squares(values) - total * total
    if not spread:
        return np.zeros(count, np.int64)
    deviations = (values * count - total).astype(np.float64)
    return np.rint(deviations * (MICROS / sqrt(spread))).astype(np.int64)


def _sum_of_squares(values: NDArray[np.int64]) -> int:
    """Exactly: squares of what ranking adds up do not fit 64 bits, so halves of the numbers are multiplied."""
    high, low = values >> _LOW_BITS, values & _LOW
    whole, mixed, rest = int(high @ high), int(high @ low), int(low @ low)
    return (whole << 2 * _LOW_BITS) + (mixed << _LOW_BITS + 1) + rest
