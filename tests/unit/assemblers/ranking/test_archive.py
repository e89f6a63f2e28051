import numpy as np
import pytest

from assemblers.ranking import IndexUnit, Saturation, build_archive


def unit(no, session=0, position=0, **terms):
    return IndexUnit(no, session, position, terms)


def test_units_stand_in_the_order_of_time_however_they_are_given():
    archive = build_archive([unit(1, 1, 0), unit(2, 0, 5), unit(3, 0, 1), unit(4, 1, 7)])
    assert archive.numbers.tolist() == [3, 2, 1, 4]
    assert archive.sessions.tolist() == [0, 0, 1, 1]


def test_units_at_one_place_stand_with_the_lower_number_last():
    archive = build_archive([unit(1, 0, 0), unit(2, 0, 0)])
    assert archive.numbers.tolist() == [2, 1]


def test_session_ordinals_may_have_gaps():
    archive = build_archive([unit(1, 900, 0, tea=1), unit(2, -7, 0, tea=1)])
    assert archive.numbers.tolist() == [2, 1]
    assert archive.sessions.tolist() == [0, 1]


def test_two_gaps_part_the_sessions():
    archive = build_archive([unit(i, session, i) for i, session in enumerate([0, 0, 0, 1, 2, 2])])
    assert archive.slots.tolist() == [0, 1, 2, 5, 8, 9]


def test_a_session_counts_as_one_document_of_all_its_terms():
    archive = build_archive([unit(1, 0, 0, tea=2), unit(2, 0, 1, tea=1, cup=1), unit(3, 1, 0, cup=4)])
    postings, row = archive.postings, archive.rows["tea"]
    span = slice(postings.starts[row], postings.starts[row + 1])
    assert postings.documents[span].tolist() == [0, 1, 3]  # units 0 and 1, then session 0 after three units
    assert postings.frequencies[span].tolist() == [2, 1, 3]


def test_lengths_are_relative_to_the_mean_of_their_own_kind():
    archive = build_archive([unit(1, 0, 0, tea=1), unit(2, 0, 1, tea=3), unit(3, 1, 0, cup=2)])
    assert archive.postings.relative_lengths.tolist() == pytest.approx([0.5, 1.5, 1.0, 4 / 3, 2 / 3])


@pytest.mark.parametrize("units", [[], [unit(1)], [unit(1), unit(2, 3, 0)]])
def test_archives_without_units_or_terms_build(units):
    archive = build_archive(units)
    assert len(archive) == len(units)
    assert dict(archive.rows) == {}
    assert np.isfinite(archive.postings.relative_lengths).all()


def test_a_number_is_found_again_and_a_foreign_one_is_not():
    archive = build_archive([unit(70, 1, 0), unit(8, 0, 0)])
    assert archive.index_of(70) == 1
    assert archive.index_of(8) == 0
    assert archive.index_of(9) is None


def test_a_repeated_number_is_refused_by_name():
    with pytest.raises(ValueError, match="no 5 stands for two units"):
        build_archive([unit(5, 0, 0), unit(6, 0, 1), unit(5, 0, 2)])


def test_arrays_cannot_be_written_to():
    archive = build_archive([unit(1, 0, 0, tea=1), unit(2, 0, 1, tea=1), unit(3, 0, 2)])
    postings = archive.postings
    arrays = (
        *(archive.numbers, archive.sessions, archive.slots, archive.indexes, postings.documents),
        *(postings.frequencies, postings.idf, postings.relative_lengths, postings.pairs),
    )
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array.flat[0] = 0


def test_the_size_grows_with_units_and_with_vocabulary():
    few = build_archive([unit(i, 0, i, tea=1) for i in range(10)])
    many = build_archive([unit(i, 0, i, tea=1) for i in range(1000)])
    wordy = build_archive([IndexUnit(i, 0, i, {f"term{i}": 1}) for i in range(1000)])
    assert 0 < few.nbytes < many.nbytes < wordy.nbytes
    assert many.nbytes > 1000 * (8 + 8 + 8 + 4 + 4 + 8 + 8)


@pytest.mark.parametrize(("k1", "b"), [(-0.1, 0.4), (10.1, 0.4), (float("nan"), 0.4)])
def test_k1_out_of_range_is_refused(k1, b):
    with pytest.raises(ValueError, match="k1 must lie between 0 and 10"):
        Saturation(k1, b)


@pytest.mark.parametrize("b", [-0.1, 1.1, float("nan")])
def test_b_out_of_range_is_refused(b):
    with pytest.raises(ValueError, match="b must lie between 0 and 1"):
        Saturation(0.9, b)
