"""The budget: what must be there, then floors, then a top-up, both in the order of priority, in whole items.

All figures are raw tokens (`assemblers.tokens`). There is no look-ahead and no knapsack: each section takes its
candidates in its own order of preference and skips those that are too large, which an auditor can redo by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assemblers.records import Reason, SectionKind

_BYTE_ORDER = {kind: place for place, kind in enumerate(SectionKind)}


@dataclass(slots=True)
class Shelf:
    """One section's candidates in order of preference, and what it has taken of them so far.

    `ceiling` (None: no bound of its own) holds for items and the lines of their groups; `frame` (heading, and a
    message of its own) is paid by the first item and counts against the floor and the whole budget only. `groups`
    gives each candidate's group, -1 for none: a group's line is paid by the first item of it.
    """

    kind: SectionKind
    costs: Sequence[int]
    floor: int = 0
    ceiling: int | None = None
    priority: int = 100
    frame: int = 0
    groups: Sequence[int] | None = None
    group_costs: Sequence[int] = ()
    max_items: int | None = None
    whole: tuple[Sequence[int], int, int | None] | None = None
    """What is taken where room is no question, its cost without the frame, and where that stopped; None where that
    must be tried."""

    least: int = 0
    """No candidate costs less; 0: not known."""

    taken: Sequence[int] = ()
    used: int = 0
    short: Reason = Reason.WITHIN_BUDGET
    """Why the candidates that were reached and are not taken are out."""
    stopped: int | None = None
    """The first candidate that was not looked at, since `max_items` were taken."""

    @property
    def charge(self) -> int:
        """What the section costs the prompt."""
        return self.used + self.frame if self.taken else 0

    def reset(self) -> None:
        """Put everything back."""
        self.taken, self.used, self.short, self.stopped = (), 0, Reason.WITHIN_BUDGET, None

    def take(self, room: int, ceiling: int | None) -> int:
        """Take what fits `room` tokens of the prompt and, with what was taken before, `ceiling`. Gives the cost."""
        frame = 0 if self.taken else self.frame
        left = room - frame
        if self.whole and not self.taken and self.whole[1] <= left and ceiling == self.ceiling:
            self.taken, self.used, self.stopped = self.whole
            self.short = Reason.OVER_CEILING
            return self.used + frame if self.taken else 0
        self.short = Reason.OVER_BUDGET
        if ceiling is not None and ceiling - self.used <= left:
            left, self.short = ceiling - self.used, Reason.OVER_CEILING
        before = self.used
        if left > 0:
            self._take(left)
        return self.used - before + (frame if self.taken else 0)

    def _take(self, left: int) -> None:
        """The greedy pass. Written flat: it sees every candidate of every call."""
        taken, known = list(self.taken), set(self.taken)
        groups, group_costs = self.groups, self.group_costs
        opened = {groups[item] for item in taken} if groups and taken else set()
        most = len(self.costs) if self.max_items is None else self.max_items
        before = left
        if len(taken) >= most:
            self.stopped = 0
            return
        # Nothing fits into less than the cheapest candidate: then the rest need not be looked at.
        least = self.least or min(self.costs, default=0)
        for item, cost in enumerate(self.costs):
            if cost > left or item in known:
                continue
            if groups and (group := groups[item]) >= 0 and group not in opened:
                if cost + group_costs[group] > left:
                    continue
                left -= group_costs[group]
                opened.add(group)
            taken.append(item)
            left -= cost
            if len(taken) == most:
                self.stopped = item + 1
                break
            if left < least:
                break
        self.taken = taken
        self.used += before - left


def allocate(room: int, shelves: Sequence[Shelf]) -> int:
    """Fill the shelves with what fits `room` tokens after the required texts; gives what is left.

    The floors must fit `room`. Where everything fits up to the ceilings, the floors make no difference.
    """
    filled = [shelf for shelf in shelves if shelf.costs]
    ordered = sorted(filled, key=lambda shelf: (shelf.priority, _BYTE_ORDER[shelf.kind]))
    if sum([shelf.floor for shelf in ordered]):
        left = room - sum(shelf.take(room, shelf.ceiling) for shelf in ordered)
        if left >= 0:
            return left
        for shelf in ordered:
            shelf.reset()
        room -= sum(shelf.take(shelf.floor, _floor_share(shelf)) for shelf in ordered)
    for shelf in ordered:
        room -= shelf.take(room, shelf.ceiling)
    return room


def _floor_share(shelf: Shelf) -> int:
    share = max(0, shelf.floor - shelf.frame)
    return share if shelf.ceiling is None else min(share, shelf.ceiling)
