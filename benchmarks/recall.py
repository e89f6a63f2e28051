"""Evidence recall: which share of the turns that answer a question are in its prompt."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from benchmarks.figures import Bar, Figure, Side
from benchmarks.locomo_data import Question

ADVERSARIAL: Final = 5
"""The category of questions about what was never said; reported apart."""
_CATEGORIES: Final = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop"}


@dataclass(frozen=True, slots=True)
class Found:
    """A question, and the turns whose text its prompt held."""

    question: Question
    turns: Collection[str]

    @property
    def recall(self) -> float:
        """The share of the evidence, as published."""
        return _share(self.question.evidence, self.turns)

    @property
    def corrected(self) -> float:
        """The share of the evidence, as corrected by an audit."""
        return _share(self.question.corrected, self.turns)

    @property
    def complete(self) -> float:
        """1 where all of the evidence is there."""
        return float(self.recall == 1)


def figures(tokens: int, found: Sequence[Found], bar: Bar, prefix: str = "") -> list[Figure]:
    """The figures of one ceiling, each name behind `prefix`. Questions without evidence cannot be measured and do not
    count."""
    asked = [one for one in found if one.question.evidence]
    answerable = [one for one in asked if one.question.category != ADVERSARIAL]
    rest = [one for one in asked if one.question.category == ADVERSARIAL]
    return [
        Figure(f"{prefix}recall_{tokens}", _mean(answerable, lambda one: one.recall), "%", bar),
        Figure(f"{prefix}all_evidence_{tokens}", _mean(answerable, lambda one: one.complete), "%"),
        Figure(f"{prefix}recall_corrected_{tokens}", _mean(answerable, lambda one: one.corrected), "%"),
        *(
            _of_category(f"{prefix}recall_{name}_{tokens}", answerable, number)
            for number, name in _CATEGORIES.items()
        ),
        Figure(f"{prefix}recall_adversarial_{tokens}", _mean(rest, lambda one: one.recall), "%"),
    ]


def at_least(percent: float) -> Bar:
    """The bar of a recall."""
    return Bar(Side.AT_LEAST, percent)


def _of_category(name: str, answerable: Sequence[Found], number: int) -> Figure:
    of_it = [one for one in answerable if one.question.category == number]
    return Figure(name, _mean(of_it, lambda one: one.recall), "%")


def _mean(found: Sequence[Found], value: Callable[[Found], float]) -> float:
    return 100 * fmean(value(one) for one in found)


def _share(evidence: Collection[str], turns: Collection[str]) -> float:
    return sum(turn in turns for turn in evidence) / len(evidence)
