import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.ranking import (
    IndexUnit,
    RankParams,
    Saturation,
    analyze,
    build_archive,
    query_terms,
    rank,
    score_of,
)

ALONE = RankParams(near_permille=0, far_permille=0, session_permille=0)
WORDS = ["tea", "cup", "rain", "bike", "moon"]


def archive_of(*sessions):
    units: list[IndexUnit] = []
    for session, texts in enumerate(sessions):
        for position, text in enumerate(texts):
            units.append(IndexUnit(len(units), session, position, Counter(analyze(text))))
    return build_archive(units)


def worth(documents, index, term, saturation):
    """BM25 of one term in one document, written out as in the textbook, in millionths."""
    holding = sum(term in document for document in documents)
    frequency = documents[index].get(term, 0)
    if not frequency:
        return 0
    mean = sum(sum(document.values()) for document in documents) / len(documents)
    length = sum(documents[index].values()) / mean
    idf = round(math.log1p((len(documents) - holding + 0.5) / (holding + 0.5)), 9)
    k1, b = saturation.k1, saturation.b
    return round(1e6 * idf * (frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * length))))


def reference_scores(units, terms, params):
    """Score per unit, unit by unit and term by term; `units` in order of session and position."""
    saturation = params.saturation
    documents = [unit.terms for unit in units]
    sessions: list[Counter[str]] = [Counter() for _ in range(max(unit.session for unit in units) + 1)]
    for unit in units:
        sessions[unit.session].update(unit.terms)
    own = [sum(worth(documents, i, term, saturation) for term in terms) for i in range(len(units))]
    talk = [sum(worth(sessions, s, term, saturation) for term in terms) for s in range(len(sessions))]

    def beside(i, distance):
        places = [j for j in (i - distance, i + distance) if 0 <= j < len(units)]
        return sum(own[j] for j in places if units[j].session == units[i].session)

    return [
        own[i]
        + (params.near_permille * beside(i, 1) + params.far_permille * beside(i, 2)) // 1000
        + params.session_permille * talk[units[i].session] // 1000
        for i in range(len(units))
    ]


@st.composite
def units_in_order(draw):
    counts = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    places = [(session, position) for session, size in enumerate(counts) for position in range(size)]
    terms = st.dictionaries(st.sampled_from(WORDS), st.integers(1, 4))
    return [IndexUnit(no, *place, draw(terms)) for no, place in enumerate(places)]


PARAMS = st.builds(
    RankParams,
    saturation=st.sampled_from([Saturation(), Saturation(1.2, 0.75), Saturation(0, 0)]),
    near_permille=st.integers(0, 1000),
    far_permille=st.integers(0, 1000),
    session_permille=st.integers(0, 2000),
    limit=st.integers(1, 8),
)


@given(units_in_order(), st.lists(st.sampled_from([*WORDS, "absent"]), unique=True), PARAMS)
def test_the_ranking_is_that_of_the_formula_written_out(units, terms, params):
    ranking = rank(build_archive(units), terms, params)
    scores = reference_scores(units, terms, params)
    order = sorted((i for i in range(len(units)) if scores[i]), key=lambda i: (-scores[i], -i))
    # The last bit of a logarithm may turn one rounding per term over; near-ties may then change places.
    assert sorted(ranking.scores.tolist(), reverse=True) == ranking.scores.tolist()
    assert [scores[i] for i in order[: params.limit]] == pytest.approx(ranking.scores.tolist(), abs=40)
    assert ranking.matched == len(order)
    left_out = scores[order[params.limit]] if len(order) > params.limit else None
    assert ranking.cutoff == (None if left_out is None else pytest.approx(left_out, abs=40))


@given(units_in_order(), st.lists(st.sampled_from(WORDS), unique=True, min_size=1), PARAMS)
def test_any_single_unit_is_explained_by_the_figures_of_the_ranking(units, terms, params):
    archive = build_archive(units)
    ranking = rank(archive, terms, params)
    for place, (unit, score) in enumerate(zip(ranking.units, ranking.scores, strict=True)):
        explained = score_of(archive, terms, params, int(unit))
        assert (explained.rank, explained.score) == (place + 1, score)
        assert explained.score == explained.keyword + explained.neighbour + explained.session
        assert explained.keyword == ranking.legs.keyword[place]
        assert explained.neighbour == ranking.legs.neighbour[place]
        assert explained.session == ranking.legs.session[place]
    ranks = [score_of(archive, terms, params, unit).rank for unit in range(len(archive))]
    assert sorted(ranks) == list(range(1, len(archive) + 1))


@given(units_in_order(), st.lists(st.sampled_from(WORDS), unique=True), st.randoms())
def test_neither_the_order_of_units_nor_of_terms_matters(units, terms, random):
    shuffled = random.sample(units, len(units))
    first = rank(build_archive(units), terms, RankParams())
    second = rank(build_archive(shuffled), terms[::-1], RankParams())
    assert first.units.tolist() == second.units.tolist()
    assert first.scores.tolist() == second.scores.tolist()


@given(units_in_order(), st.lists(st.sampled_from(WORDS), unique=True))
def test_constants_that_were_not_prepared_give_the_same_as_prepared_ones(units, terms):
    params = RankParams(saturation=Saturation(1.5, 0.6))
    prepared = rank(build_archive(units, params.saturation), terms, params)
    computed = rank(build_archive(units), terms, params)
    assert prepared.scores.tolist() == computed.scores.tolist()
    assert prepared.units.tolist() == computed.units.tolist()


@pytest.mark.parametrize("terms", [[], ["tea"]])
def test_an_empty_archive_gives_an_empty_ranking(terms):
    ranking = rank(build_archive([]), terms, RankParams())
    assert ranking.units.tolist() == ranking.scores.tolist() == ranking.legs.total().tolist() == []
    assert (ranking.matched, ranking.cutoff) == (0, None)


@pytest.mark.parametrize(
    "question", ["", "  \n", "\u200b", "what is it?", "xylophone", "*", '"', "' OR 1=1 --x"]
)
def test_a_question_without_a_known_term_finds_nothing(question):
    ranking = rank(archive_of(["green tea", "black tea"]), query_terms(question), RankParams())
    assert (ranking.units.tolist(), ranking.matched, ranking.cutoff) == ([], 0, None)


def test_ties_go_to_the_newer_unit():
    archive = archive_of(["tea"], ["tea"], ["tea"])
    ranking = rank(archive, ["tea"], RankParams(limit=2))
    assert ranking.units.tolist() == [2, 1]
    assert ranking.scores[0] == ranking.scores[1] == ranking.cutoff
    assert ranking.matched == 3
    assert score_of(archive, ["tea"], RankParams(), 0).rank == 3


def test_neighbours_lift_a_unit_by_their_distance():
    archive = archive_of(["moon", "rain", "tea", "rain", "moon", "bike"])
    legs = rank(archive, ["tea"], RankParams(session_permille=0)).legs
    own = int(legs.keyword[0])
    assert legs.neighbour.tolist() == [0, own * 400 // 1000, own * 400 // 1000, own // 5, own // 5]


def test_neighbours_never_reach_across_the_border_of_a_session():
    archive = archive_of(["rain", "moon"], ["tea"], ["rain", "moon"])
    ranking = rank(archive, ["tea"], RankParams())
    assert ranking.units.tolist() == [2]
    assert ranking.legs.neighbour.tolist() == [0]


def test_the_session_leg_lifts_every_unit_of_a_talk_about_the_topic():
    archive = archive_of(["tea ceremony", "hello"], ["rain", "rain"])
    params = RankParams(near_permille=0, far_permille=0)
    ranking = rank(archive, ["tea"], params)
    assert ranking.units.tolist() == [0, 1]
    assert ranking.legs.session[0] == ranking.legs.session[1] > 0
    assert ranking.legs.keyword[1] == 0
    assert rank(archive, ["tea"], ALONE).units.tolist() == [0]


def test_a_rare_term_is_worth_more_than_a_common_one():
    archive = archive_of(["tea rain"], ["tea moon"], ["tea cup"], ["bike"])
    ranking = rank(archive, query_terms("tea moon"), RankParams())
    assert ranking.units[0] == 1


def test_a_repeated_term_counts_once():
    archive = archive_of(["tea", "cup"])
    assert (
        rank(archive, ["tea", "tea"], ALONE).scores.tolist() == rank(archive, ["tea"], ALONE).scores.tolist()
    )


def test_more_words_in_a_question_do_not_lose_what_fewer_found():
    archive = archive_of(["our credit terms are thirty days", "fine"], ["the weather"])
    few = set(rank(archive, query_terms("credit terms"), RankParams()).units.tolist())
    many = rank(archive, query_terms('credit terms "thirty days" OR weather - please'), RankParams())
    assert few <= set(many.units.tolist())


def test_scores_hold_at_the_widest_allowed_weights():
    saturation = Saturation(10, 0)
    terms = {f"t{i}": 1_000_000 for i in range(64)}
    units = [IndexUnit(i, 0, i, terms if i < 5 else {}) for i in range(20_000)]
    params = RankParams(saturation, 10_000, 10_000, 10_000, limit=3)
    ranking = rank(build_archive(units), list(terms), params)
    assert ranking.units.tolist()[0] == 2
    assert 0 < ranking.scores[0] < 1 << 40
    assert ranking.legs.total().tolist() == ranking.scores.tolist()


@pytest.mark.parametrize("name", ["near_permille", "far_permille", "session_permille"])
@pytest.mark.parametrize("value", [-1, 10_001])
def test_a_weight_out_of_range_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} must lie between 0 and 10000"):
        RankParams(**{name: value})


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="limit must be at least 1"):
        RankParams(limit=0)


@pytest.mark.parametrize("unit", [-1, 2])
def test_a_unit_outside_of_the_archive_is_refused(unit):
    with pytest.raises(IndexError, match="not in an archive of 2"):
        score_of(archive_of(["tea", "cup"]), ["tea"], RankParams(), unit)
