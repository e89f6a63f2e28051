"""What a caller must see of the writes that were acknowledged: otherwise something stale was shown as fresh."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from benchmarks.faults.outcomes import FACT_KEYS, Kind, Outcome

ELSEWHERE_SECONDS: Final = 1.25
"""How long another gateway may show what it confirmed before: one second, and a quarter for the clocks of two tasks."""

_WHOLE: Final = frozenset({"OK", "TRUNCATED"})
_WHOLE_OR_EMPTY: Final = frozenset({*_WHOLE, "EMPTY"})
_NEVER: Final = -1


class Acknowledged:
    """The highest number acknowledged by an instant, for one thing that is overwritten by ever higher numbers."""

    def __init__(self, seen: Iterable[tuple[float, int]]) -> None:
        self._times: list[float] = []
        self._highest: list[int] = []
        highest = _NEVER
        for time, number in sorted(seen):
            highest = max(highest, number)
            self._times.append(time)
            self._highest.append(highest)

    def before(self, instant: float) -> int:
        """-1 where nothing was."""
        at = bisect_left(self._times, instant)
        return self._highest[at - 1] if at else _NEVER


class Freshness:
    """Knows of each (person, fact key) and (person, slot) what each gateway must show at an instant."""

    def __init__(self, outcomes: Iterable[Outcome], gateways: int, slots_from: float = 0.0) -> None:
        """Slots that were set before `slots_from` may have been lost with the store that held them."""
        facts: dict[tuple[int, int, int], list[tuple[float, int]]] = defaultdict(list)
        slots: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for one in outcomes:
            if one.ok and one.kind is Kind.FACTS:
                for gateway in range(gateways):
                    delay = 0.0 if gateway == one.gateway else ELSEWHERE_SECONDS
                    key = (gateway, one.person, one.number % FACT_KEYS)
                    facts[key].append((one.ended + delay, one.number))
            elif one.ok and one.kind is Kind.SLOTS and one.started >= slots_from:
                slots[one.person].append((one.ended, one.number))
        self._facts = {key: Acknowledged(found) for key, found in facts.items()}
        self._slots = {person: Acknowledged(found) for person, found in slots.items()}

    def flaws(self, outcome: Outcome, asked: float) -> Iterator[str]:
        """What an answer shows in whole sections though something newer was acknowledged before `asked`.

        That is when its turn was asked for first: a repeat gets the answer of then.
        """
        answer = outcome.answer
        if answer is None:
            return
        if answer.status("FACTS") in _WHOLE:
            for key in range(FACT_KEYS):
                expected = self._expected_fact(outcome, key, asked)
                shown = answer.facts.get(key, _NEVER)
                if shown < expected:
                    yield f"fact {shown} of key {key} where {expected} was acknowledged"
        if answer.status("SESSION") in _WHOLE_OR_EMPTY:
            slots = self._slots.get(outcome.person)
            expected = _NEVER if slots is None else slots.before(asked)
            if answer.slot < expected:
                yield f"slot {answer.slot} where {expected} was acknowledged"

    def _expected_fact(self, outcome: Outcome, key: int, asked: float) -> int:
        found = self._facts.get((outcome.gateway, outcome.person, key))
        return _NEVER if found is None else found.before(asked)
