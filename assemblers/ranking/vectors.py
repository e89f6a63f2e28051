"""Embeddings of one user's units as a matrix, and exact cosines with a question's.

A product of matrices may add its terms in any order, with or without fused steps, so the last bits of a cosine differ
between BLAS libraries, processors and numbers of threads, and with them the order of close candidates. Here vectors
are in fixed point: whole multiples of 1/4,000 held as float32. Then every product and every partial sum is a whole
number below 2**24, which float32 holds exactly: whatever the order, the sum is the same on every machine. What a
cosine loses to the rounding is about 0.0001, a hundredth of what tells two candidates apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

FIXED_POINT: Final[int] = 4000
"""Steps per unit. The norm of a rounded vector stays below 4,096 up to `MAX_DIMENSION`, and 4,096**2 is 2**24."""

MAX_DIMENSION: Final[int] = 8192

_STEPS_PER_MICRO: Final[float] = FIXED_POINT**2 / 1_000_000
"""16: a power of two, so that dividing by it is exact."""

_NORM_TOLERANCE: Final[float] = 1e-3


class MalformedVectorError(ValueError):
    """A vector is not one of its space; the text says what is wrong and repeats nothing of it."""


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """What embeddings must share to be compared. `id` names the model, its export and the form of the text that was
    embedded: a change of any of them is another space.

    A threshold belongs to it: `floor_permille` is the cosine below which a unit is not worth showing by its vector
    alone, unless a policy says otherwise.
    """

    id: str
    dimension: int
    floor_permille: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.dimension <= MAX_DIMENSION:
            raise ValueError(f"dimension must lie between 1 and {MAX_DIMENSION}, not {self.dimension}")


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Embeddings aligned with an archive: row i is of the unit at index i, zeros where it has none yet."""

    space: VectorSpace
    matrix: NDArray[np.float32]
    """In fixed point, read-only."""
    present: NDArray[np.bool_]
    count: int
    """How many units have a vector."""

    @property
    def nbytes(self) -> int:
        return self.matrix.nbytes + self.present.nbytes

    def cosines(self, question: NDArray[np.float32]) -> NDArray[np.int64]:
        """Per unit, in millionths; 0 where it has no vector. `question` is in fixed point."""
        products = self.matrix @ question
        return np.rint(products.astype(np.float64) / _STEPS_PER_MICRO).astype(np.int64)

    def taken(self, indexes: NDArray[np.intp]) -> "Vectors":
        """Those of some units, in the order of `indexes`."""
        matrix, present = self.matrix[indexes], self.present[indexes]
        return Vectors(self.space, matrix, present, int(present.sum()))

    def missing(self) -> NDArray[np.intp]:
        """Indexes of the units without a vector."""
        return np.flatnonzero(~self.present)


def check_vector(space: VectorSpace, vector: NDArray[np.float32]) -> None:
    """Raise `MalformedVectorError` unless it is a finite vector of length 1 with the dimension of `space`."""
    if vector.shape != (space.dimension,):
        raise MalformedVectorError(f"a vector of {space.id} has {space.dimension} components")
    norm = float(np.sqrt(np.square(vector, dtype=np.float64).sum()))
    # Not-a-number compares as false.
    if not abs(norm - 1) <= _NORM_TOLERANCE:
        raise MalformedVectorError(f"a vector of {space.id} is finite and has the length 1")


def fixed_point(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vector, or rows of vectors, in whole steps."""
    steps: NDArray[np.float32] = np.rint(vector * np.float32(FIXED_POINT))
    return steps


def build_vectors(
    space: VectorSpace, numbers: NDArray[np.int64], known: Mapping[int, NDArray[np.float32]]
) -> Vectors:
    """The vectors of units by number, in the order of `numbers`. One that is not of the space counts as missing."""
    matrix = np.zeros((len(numbers), space.dimension), np.float32)
    present = np.zeros(len(numbers), np.bool_)
    for index, number in enumerate(numbers.tolist()):
        vector = known.get(number)
        if vector is not None and vector.shape == (space.dimension,):
            matrix[index], present[index] = vector, True
    matrix = fixed_point(matrix)
    # Only what is longer than 1 or not a number can leave the range in which sums are exact: such a row was damaged.
    lengths = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)
    sound = lengths <= float(2**24)
    matrix[~sound], present = 0, present & sound
    for array in (matrix, present):
        array.setflags(write=False)
    return Vectors(space, matrix, present, int(present.sum()))


def pack_question(question: NDArray[np.float32]) -> bytes:
    """A fixed-point vector in two bytes a component, as a trace keeps it."""
    return question.astype("<i2").tobytes()


def unpack_question(packed: bytes) -> NDArray[np.float32]:
    """The inverse of `pack_question`."""
    return np.frombuffer(packed, "<i2").astype(np.float32)
