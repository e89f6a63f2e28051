import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.ranking import (
    MalformedVectorError,
    VectorSpace,
    build_vectors,
    check_vector,
    fixed_point,
    pack_question,
    unpack_question,
)

SPACE = VectorSpace("toy@1", 3)


def unit(*components):
    vector = np.array(components, np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def random_units(count, dimension, seed=1):
    rows = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def vectors_of(*rows, space=SPACE):
    return build_vectors(
        space, np.arange(len(rows)), {i: row for i, row in enumerate(rows) if row is not None}
    )


def test_a_cosine_is_that_of_the_vectors_to_the_thousandth():
    rows = random_units(40, 384)
    vectors = vectors_of(*rows, space=VectorSpace("wide@1", 384))
    cosines = vectors.cosines(fixed_point(rows[7]))
    assert cosines / 1e6 == pytest.approx(rows.astype(np.float64) @ rows[7].astype(np.float64), abs=1e-3)
    assert np.argmax(cosines) == 7


@pytest.mark.parametrize("dimension", [1, 3, 384, 1536, 8192])
def test_cosines_are_whole_number_arithmetic_in_every_dimension(dimension):
    rows = random_units(9, dimension, seed=dimension)
    vectors = vectors_of(*rows, space=VectorSpace("any@1", dimension))
    question = fixed_point(rows[4])
    exact = vectors.matrix.astype(np.int64) @ question.astype(np.int64)
    assert (vectors.matrix @ question).astype(np.int64).tolist() == exact.tolist()
    assert vectors.cosines(question).tolist() == np.rint(exact / 16).astype(np.int64).tolist()


@given(st.permutations(range(64)))
def test_the_order_of_adding_changes_no_cosine(order):
    rows = random_units(6, 64, seed=9)
    space = VectorSpace("any@1", 64)
    straight = vectors_of(*rows, space=space).cosines(fixed_point(rows[0]))
    mixed = vectors_of(*rows[:, order], space=space).cosines(fixed_point(rows[0][order]))
    assert straight.tolist() == mixed.tolist()


def test_vectors_stand_in_the_order_of_the_archive_and_gaps_are_known():
    known = {30: unit(1, 0, 0), 10: unit(0, 1, 0)}
    vectors = build_vectors(SPACE, np.array([10, 20, 30]), known)
    assert vectors.matrix.tolist() == [[0, 4000, 0], [0, 0, 0], [4000, 0, 0]]
    assert (vectors.present.tolist(), vectors.count, vectors.missing().tolist()) == (
        [True, False, True],
        2,
        [1],
    )
    assert vectors.cosines(fixed_point(unit(1, 0, 0))).tolist() == [0, 0, 1_000_000]


def test_a_vector_of_another_dimension_counts_as_missing():
    vectors = build_vectors(SPACE, np.array([1, 2]), {1: unit(1, 0), 2: unit(1, 0, 0)})
    assert vectors.present.tolist() == [False, True]


@pytest.mark.parametrize("damaged", [np.nan, np.inf, 1e30, -3.0])
def test_a_damaged_row_counts_as_missing(damaged):
    row = np.array([damaged, 0, 0], np.float32)
    vectors = vectors_of(row, unit(1, 0, 0))
    assert vectors.present.tolist() == [False, True]
    assert vectors.cosines(fixed_point(unit(1, 0, 0))).tolist() == [0, 1_000_000]


def test_vectors_of_some_units_can_be_taken_in_any_order():
    vectors = vectors_of(unit(1, 0, 0), None, unit(0, 1, 0)).taken(np.array([2, 1]))
    assert vectors.matrix.tolist() == [[0, 4000, 0], [0, 0, 0]]
    assert (vectors.present.tolist(), vectors.count) == ([True, False], 1)


def test_an_empty_archive_has_no_cosines():
    vectors = vectors_of()
    assert vectors.cosines(fixed_point(unit(1, 0, 0))).tolist() == []
    assert vectors.count == 0


def test_arrays_are_read_only_and_their_bytes_are_known():
    vectors = vectors_of(unit(1, 0, 0))
    with pytest.raises(ValueError, match="read-only"):
        vectors.matrix[0, 0] = 1
    assert vectors.nbytes == 3 * 4 + 1


@pytest.mark.parametrize(
    "vector",
    [
        np.zeros(3, np.float32),
        np.array([np.nan, 0, 1], np.float32),
        np.array([np.inf, 0, 0], np.float32),
        np.array([0.9, 0, 0], np.float32),
        np.ones((1, 3), np.float32),
        unit(1, 0),
        unit(1, 0, 0, 0),
    ],
)
def test_what_is_no_vector_of_the_space_is_refused(vector):
    with pytest.raises(MalformedVectorError, match="toy@1"):
        check_vector(SPACE, vector)


def test_a_vector_of_the_space_is_taken():
    check_vector(SPACE, unit(3, -4, 0))


@pytest.mark.parametrize("dimension", [0, 8193])
def test_a_space_too_wide_for_exact_sums_is_refused(dimension):
    with pytest.raises(ValueError, match="between 1 and 8192"):
        VectorSpace("any", dimension)


def test_a_packed_question_is_the_same_question():
    question = fixed_point(random_units(1, 384)[0])
    packed = pack_question(question)
    assert len(packed) == 768
    assert unpack_question(packed).tolist() == question.tolist()
