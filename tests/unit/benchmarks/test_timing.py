"""Closed loops, alternating calls and quantiles."""

import asyncio

import pytest

from benchmarks.timing import Step, alternating, closed_loop, quantile


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_a_quantile_is_the_nearest_rank(share: float, value: float) -> None:
    assert quantile(range(1, 101), share) == value


async def test_callers_share_the_calls_and_each_waits_for_its_answer() -> None:
    running, most, calls = 0, 0, 0

    async def step() -> None:
        nonlocal running, most, calls
        running, calls = running + 1, calls + 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    sample = await closed_loop([step] * 4, 40)
    assert (calls, most, len(sample.latencies)) == (40, 4, 40)
    assert list(sample.latencies) == sorted(sample.latencies)
    assert sample.rate == pytest.approx(40 / sample.seconds)


async def test_variants_take_turns_and_each_comes_first_as_often() -> None:
    order: list[str] = []

    def variant(name: str) -> Step:
        async def step() -> None:
            order.append(name)

        return step

    samples = await alternating([variant("a"), variant("b")], 4)
    assert order == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert [len(sample.latencies) for sample in samples] == [4, 4]
