"""Scaling, limits, frames and content counts, on a counter that counts words."""

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.tokens import (
    NEUTRAL,
    OPENAI_CHAT,
    TEXT,
    Exactness,
    Frame,
    ModelTokens,
    count_call,
    count_result,
    count_tool,
)

FRAME = Frame(prompt=3, message=4)
factors = st.integers(min_value=1000, max_value=8000)
amounts = st.integers(min_value=0, max_value=2**31)


class Words:
    id = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def model(factor_permille: int = 1000, exactness: Exactness = Exactness.EXACT) -> ModelTokens:
    return ModelTokens(Words(), {NEUTRAL: FRAME}, exactness, factor_permille)


def test_a_factor_rounds_up_once():
    assert model(1250).scaled(1) == 2
    assert model(1250).scaled(4) == 5
    assert model(1000).scaled(7) == 7
    assert model(1800).scaled(0) == 0


@given(factors, amounts)
def test_the_raw_limit_is_the_greatest_raw_number_that_still_fits(factor: int, limit: int):
    tokens = model(factor)
    raw = tokens.raw_limit(limit)
    assert tokens.scaled(raw) <= limit < tokens.scaled(raw + 1)


def test_tools_make_every_count_an_estimate():
    assert model().exactness_for(has_tools=False) is Exactness.EXACT
    assert model().exactness_for(has_tools=True) is Exactness.ESTIMATE
    assert model(exactness=Exactness.UPPER_BOUND).exactness_for(has_tools=False) is Exactness.UPPER_BOUND
    assert model(exactness=Exactness.UPPER_BOUND).exactness_for(has_tools=True) is Exactness.ESTIMATE


def test_a_format_without_a_frame_of_its_own_has_the_neutral_one():
    own = Frame(prompt=9, message=9)
    tokens = ModelTokens(Words(), MappingProxyType({NEUTRAL: FRAME, TEXT: own}), Exactness.EXACT)
    assert tokens.frame(TEXT) == own
    assert tokens.frame(OPENAI_CHAT) == FRAME
    assert tokens.frame() == FRAME


def test_a_model_without_a_neutral_frame_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match="frames: give a frame for NEUTRAL"):
        ModelTokens(Words(), {TEXT: FRAME}, Exactness.EXACT)


@pytest.mark.parametrize("factor", [0, -1])
def test_a_factor_below_one_permille_is_refused(factor: int):
    with pytest.raises(ValueError, match="factor_permille: give a whole number >= 1"):
        model(factor)


def test_a_call_and_a_result_cost_their_name_and_their_json():
    arguments = '{"a": 1, "b": 2}'
    assert count_call(Words(), "find_order", arguments) == 1 + 4
    assert count_result(Words(), "find_order", arguments) == 1 + 4
    assert count_tool(Words(), '{"name": "find_order"}') == 2


def test_the_arguments_of_a_call_without_text_are_counted():
    # B9: arguments of 39,000 characters were once counted as nothing, since the message had no content.
    assert count_call(Words(), "run", "word " * 7_800) == 7_801


def test_models_of_equal_parts_are_equal_and_hashable():
    counter = Words()
    first, second = (ModelTokens(counter, {NEUTRAL: FRAME}, Exactness.EXACT) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
