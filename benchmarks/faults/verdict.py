"""What the checker says of a run."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Rule(StrEnum):
    """What must hold. All but the first two hold for every single answer."""

    PRESCRIBED = "prescribed"
    """An assembled prompt came out as the fault's row of the table says, within its deadline."""
    WRITE_PRESCRIBED = "write_prescribed"
    """A write came out as the row says."""
    UNTYPED = "untyped"
    """Nothing answers UNKNOWN or INTERNAL."""
    LATE = "late"
    """An answer is there by its deadline."""
    FOREIGN = "foreign"
    """Nothing of another tenant, user or session is shown."""
    STALE = "stale"
    """Nothing stale is shown as fresh."""
    LOST = "lost"
    """What was acknowledged is there."""
    DOUBLED = "doubled"
    """What was asked for once is there once."""
    INVENTED = "invented"
    """Nothing is there that nobody asked for."""
    UNTRACED = "untraced"
    """An answer has its trace, at the latest once the stores are well again."""
    CHAIN = "chain"
    """Each tenant's chain has no gap, and every record follows the one before it."""


SHARES: Final = frozenset({Rule.PRESCRIBED, Rule.WRITE_PRESCRIBED})
"""Rules of which a share is judged; of all others one violation is too many."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that does not hold: `what`, and `of` which call or person. `at` is seconds since the fault began."""

    rule: Rule
    at: float
    what: str
    of: str = ""


class Findings:
    """Counts violations by rule and by what they are, and keeps the first of each."""

    def __init__(self, violations: Iterable[Violation] = ()) -> None:
        self.counts: Counter[Rule] = Counter()
        self._kinds: Counter[tuple[Rule, str]] = Counter()
        self._first: dict[tuple[Rule, str], Violation] = {}
        self._last: dict[tuple[Rule, str], Violation] = {}
        for one in violations:
            self.add(one)

    def add(self, violation: Violation) -> None:
        """Another one."""
        kind = violation.rule, violation.what
        self.counts[violation.rule] += 1
        self._kinds[kind] += 1
        self._first.setdefault(kind, violation)
        self._last[kind] = violation

    @property
    def broken(self) -> frozenset[Rule]:
        """The rules with a violation."""
        return frozenset(self.counts)

    @property
    def absolute(self) -> int:
        """How many violations there are of rules that allow none."""
        return sum(count for rule, count in self.counts.items() if rule not in SHARES)

    def lines(self, each: int) -> Iterator[str]:
        """The most frequent of each rule, with the rule's count."""
        for rule, count in sorted(self.counts.items()):
            yield f"{rule.value}: {count}"
            kinds = [(kind, times) for kind, times in self._kinds.most_common() if kind[0] is rule]
            for kind, times in kinds[:each]:
                first, last = self._first[kind], self._last[kind]
                yield f"  {times} times, from {first.at:+.2f} to {last.at:+.2f} s, first of {first.of}: {first.what}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`calls` and `right` are the assembled prompts asked for during the fault and those that came out as prescribed;
    `writes` and `writes_right` likewise. `recovery` is how long after the fault's end the last prompt was asked for
    that was not as it is without a fault, in seconds. `steady_rate` is that of answers before the fault, per second.
    `felt` counts what came out otherwise during the fault than without one."""

    calls: int
    right: int
    writes: int
    writes_right: int
    recovery: float
    steady_rate: float
    felt: int = 0
    findings: Findings = field(default_factory=Findings)

    @property
    def share(self) -> float:
        """Percent of prompts as prescribed; 0 where none was asked for."""
        return 100 * self.right / self.calls if self.calls else 0.0

    @property
    def writes_share(self) -> float:
        """Percent of writes as prescribed; 0 where none was made."""
        return 100 * self.writes_right / self.writes if self.writes else 0.0
