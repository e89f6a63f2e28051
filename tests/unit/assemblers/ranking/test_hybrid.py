from math import isqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.ranking import (
    Blend,
    IndexUnit,
    Question,
    RankParams,
    VectorSpace,
    build_archive,
    build_vectors,
    fixed_point,
    hybrid_score_of,
    rank,
    rank_hybrid,
    score_of,
)

SPACE = VectorSpace("toy@1", 4)
WORDS = ["tea", "cup", "rain", "bike"]
PLAIN = RankParams(near_permille=0, far_permille=0, session_permille=0)


def direction(*components):
    vector = np.array(components, np.float32)
    return vector / np.linalg.norm(vector)


EAST, NORTH, NORTHEAST = direction(1, 0, 0, 0), direction(0, 1, 0, 0), direction(1, 1, 0, 0)
WEST = -EAST


def prepared(units, vectors):
    archive = build_archive(units)
    return archive, build_vectors(SPACE, archive.numbers, vectors)


def in_one_session(*texts):
    return [IndexUnit(no, 0, no, dict.fromkeys(text.split(), 1)) for no, text in enumerate(texts)]


def asked(terms="", vector=EAST):
    return Question(terms.split(), fixed_point(vector))


def standard(values):
    """Standard scores in millionths, in whole numbers but for the last rounding."""
    count, total = len(values), sum(values)
    spread = count * sum(v * v for v in values) - total * total
    root = isqrt(spread * 10**12)
    return [round((count * v - total) * 10**12 / root) if spread else 0 for v in values]


def reference_totals(archive, vectors, question, params, blend):
    """Totals per unit, written out unit by unit."""
    units, sessions = range(len(archive)), archive.sessions.tolist()
    keyword = [score_of(archive, question.terms, params, unit).score for unit in units]
    cosines, present = vectors.cosines(question.vector).tolist(), vectors.present.tolist()
    known = [unit for unit in units if present[unit]]
    own = dict(zip(known, standard([cosines[unit] for unit in known]), strict=True))

    def beside(unit, distance):
        places = (unit - distance, unit + distance)
        return sum(own.get(p, 0) for p in places if p in units and sessions[p] == sessions[unit])

    def best(unit):
        return max((own[u] for u in known if sessions[u] == sessions[unit]), default=0)

    lifted = [
        (
            1000 * own.get(unit, 0)
            + params.near_permille * beside(unit, 1)
            + params.far_permille * beside(unit, 2)
            + params.session_permille * best(unit)
        )
        // 1000
        for unit in units
    ]
    shares = zip(standard(keyword), standard(lifted), strict=True)
    return [(blend.keyword_permille * k + blend.vector_permille * v) // 1000 for k, v in shares]


@st.composite
def archives(draw):
    counts = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    places = [(session, position) for session, size in enumerate(counts) for position in range(size)]
    terms = st.dictionaries(st.sampled_from(WORDS), st.integers(1, 4))
    units = [IndexUnit(no, *place, draw(terms)) for no, place in enumerate(places)]
    components = st.tuples(*[st.integers(-5, 5)] * 4).filter(any)
    vectors = {u.no: direction(*draw(components)) for u in units if draw(st.integers(0, 3))}
    return prepared(units, vectors)


QUESTIONS = st.builds(
    lambda terms, parts: Question(terms, fixed_point(direction(*parts))),
    st.lists(st.sampled_from([*WORDS, "absent"]), unique=True),
    st.tuples(*[st.integers(-5, 5)] * 4).filter(any),
)
PARAMS = st.builds(
    RankParams,
    near_permille=st.integers(0, 1000),
    far_permille=st.integers(0, 1000),
    session_permille=st.integers(0, 2000),
    limit=st.integers(1, 8),
)
BLENDS = st.builds(Blend, st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 500))


@given(archives(), QUESTIONS, PARAMS, BLENDS)
def test_the_ranking_is_that_of_the_formula_written_out(made, question, params, blend):
    archive, vectors = made
    ranking = rank_hybrid(archive, vectors, question, params, blend)
    totals = reference_totals(archive, vectors, question, params, blend)
    assert [totals[unit] for unit in ranking.units] == pytest.approx(ranking.scores.tolist(), abs=60)
    assert sorted(ranking.scores.tolist(), reverse=True) == ranking.scores.tolist()
    cosines = vectors.cosines(question.vector)
    matching = [
        unit
        for unit in range(len(archive))
        if cosines[unit] > 0 or score_of(archive, question.terms, params, unit).score > 0
    ]
    assert ranking.matched == len(matching)
    assert set(ranking.units.tolist()) <= set(matching)
    assert len(ranking.units) == min(params.limit, len(matching))
    assert (ranking.cutoff is None) == (len(matching) <= params.limit)


@given(archives(), QUESTIONS, PARAMS, BLENDS)
def test_any_single_unit_is_explained_by_the_figures_of_the_ranking(made, question, params, blend):
    archive, vectors = made
    ranking = rank_hybrid(archive, vectors, question, params, blend)
    assert ranking.fusion is not None
    for place, (unit, score) in enumerate(zip(ranking.units, ranking.scores, strict=True)):
        explained = hybrid_score_of(archive, vectors, question, params, blend, int(unit))
        assert (explained.rank, explained.score) == (place + 1, score)
        assert explained.cosine == ranking.fusion.cosines[place]
        legs = explained.keyword, explained.neighbour, explained.session
        assert legs == tuple(
            int(leg[place]) for leg in (ranking.legs.keyword, ranking.legs.neighbour, ranking.legs.session)
        )
        assert sum(legs) == score_of(archive, question.terms, params, int(unit)).score
    ranks = [
        hybrid_score_of(archive, vectors, question, params, blend, unit).rank for unit in range(len(archive))
    ]
    assert sorted(ranks) == list(range(1, len(archive) + 1))


@given(archives(), QUESTIONS, PARAMS)
def test_with_no_weight_on_vectors_what_keywords_find_keeps_its_order(made, question, params):
    archive, vectors = made
    keywords = rank(archive, question.terms, params)
    hybrid = rank_hybrid(archive, vectors, question, params, Blend(1000, 0))
    assert hybrid.units.tolist()[: len(keywords.units)] == keywords.units.tolist()


def test_a_unit_that_shares_no_word_is_found_by_its_vector():
    archive, vectors = prepared(in_one_session("tea", "rain", "bike"), {0: NORTH, 1: EAST, 2: WEST})
    ranking = rank_hybrid(archive, vectors, asked("absent"), PLAIN, Blend())
    assert ranking.units.tolist() == [1]
    assert ranking.fusion is not None
    assert ranking.fusion.cosines.tolist() == [1_000_000]


def test_a_unit_without_a_vector_is_still_found_by_its_words():
    archive, vectors = prepared(in_one_session("tea", "rain", "bike"), {0: NORTHEAST, 2: NORTH})
    ranking = rank_hybrid(archive, vectors, asked("rain"), PLAIN, Blend())
    assert sorted(ranking.units.tolist()) == [0, 1]
    assert ranking.fusion is not None
    assert ranking.fusion.embedded == 2
    assert dict(zip(ranking.units.tolist(), ranking.fusion.cosines.tolist(), strict=True))[1] == 0


def test_without_any_vector_the_order_is_that_of_the_keywords():
    units = in_one_session("tea cup", "rain", "tea", "bike tea rain")
    archive, vectors = prepared(units, {})
    hybrid = rank_hybrid(archive, vectors, asked("tea rain"), RankParams(), Blend())
    assert hybrid.units.tolist() == rank(archive, ["tea", "rain"], RankParams()).units.tolist()


def test_neighbours_and_the_session_lift_a_unit_by_their_vectors():
    units = [IndexUnit(no, no // 3, no, {}) for no in range(6)]
    archive, vectors = prepared(
        units, {0: NORTHEAST, 1: EAST, 2: NORTHEAST, 3: NORTHEAST, 4: NORTH, 5: NORTH}
    )
    ranking = rank_hybrid(archive, vectors, asked(), RankParams(), Blend())
    assert ranking.units.tolist()[0] == 1
    assert ranking.units.tolist()[-1] == 3  # as like the question as 0 and 2, in a session of other things


def test_ties_go_to_the_newer_unit():
    archive, vectors = prepared(in_one_session("", "", ""), dict.fromkeys(range(3), EAST))
    ranking = rank_hybrid(archive, vectors, asked(), RankParams(limit=2), Blend())
    assert ranking.units.tolist() == [2, 1]
    assert ranking.matched == 3
    assert ranking.cutoff == ranking.scores[0] == ranking.scores[1]


def test_a_single_unit_is_ranked_although_nothing_can_be_compared():
    archive, vectors = prepared(in_one_session("tea"), {0: EAST})
    ranking = rank_hybrid(archive, vectors, asked("tea"), RankParams(), Blend())
    assert (ranking.units.tolist(), ranking.scores.tolist()) == ([0], [0])


def test_an_empty_archive_gives_an_empty_ranking():
    archive, vectors = prepared([], {})
    ranking = rank_hybrid(archive, vectors, asked("tea"), RankParams(), Blend())
    assert ranking.units.tolist() == ranking.scores.tolist() == []
    assert (ranking.matched, ranking.cutoff) == (0, None)


def test_scores_hold_at_the_widest_allowed_weights():
    terms = {f"t{i}": 1_000_000 for i in range(64)}
    units = [IndexUnit(i, 0, i, terms if i < 5 else {}) for i in range(20_000)]
    archive, vectors = prepared(units, {i: EAST if i < 5 else NORTH for i in range(20_000)})
    params = RankParams(near_permille=10_000, far_permille=10_000, session_permille=10_000, limit=3)
    ranking = rank_hybrid(archive, vectors, asked(" ".join(terms)), params, Blend(1000, 1000))
    assert ranking.units.tolist()[0] == 2
    assert 0 < ranking.scores[0] < 1 << 40


@pytest.mark.parametrize("name", ["keyword_permille", "vector_permille", "floor_permille"])
@pytest.mark.parametrize("value", [-1, 1001])
def test_a_weight_out_of_range_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} must lie between 0 and 1000"):
        Blend(**{name: value})


@pytest.mark.parametrize("unit", [-1, 2])
def test_a_unit_outside_of_the_archive_is_refused(unit):
    archive, vectors = prepared(in_one_session("tea", "cup"), {})
    with pytest.raises(IndexError, match="not in an archive of 2"):
        hybrid_score_of(archive, vectors, asked("tea"), PLAIN, Blend(), unit)
