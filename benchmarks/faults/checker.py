"""Holds every answer of a run against what is prescribed, and what is stored against what was acknowledged."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from benchmarks.faults.freshness import Freshness
from benchmarks.faults.outcomes import Kind, Outcome, Record
from benchmarks.faults.prescriptions import Prescription, Rules, union
from benchmarks.faults.stored import stored_violations
from benchmarks.faults.verdict import Findings, Rule, Verdict, Violation

_UNTYPED: Final = frozenset({"UNKNOWN", "INTERNAL"})
_CLIENT_SECONDS: Final = 0.1
"""What the client itself may take to notice an answer, on a machine that it shares with what it measures."""


Call: TypeAlias = tuple[Kind, int, int]
"""What all attempts of a call have in common: kind, person, number."""


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a run is held against: the fault's rules, the deadline of prompts in seconds, the number of gateways."""

    rules: Rules
    deadline: float
    gateways: int = 1


class FloorMissed(RuntimeError):
    """A run does not count: traffic before the fault was too thin, or nobody felt the fault."""


def check(record: Record, expected: Expectations) -> Verdict:
    """The verdict on a run."""
    judge = _Judge(record, expected)
    findings = Findings((*judge.violations(), *stored_violations(record)))
    timeline = record.timeline
    during = [one for one in record.outcomes if timeline.fault <= one.started < timeline.healed]
    prompts = [one for one in during if one.kind is Kind.ASSEMBLE]
    writes = [one for one in during if one.kind is not Kind.ASSEMBLE]
    before = sum(
        one.ok and one.kind is Kind.ASSEMBLE and timeline.steady <= one.ended < timeline.fault
        for one in record.outcomes
    )
    return Verdict(
        calls=len(prompts),
        right=sum(map(judge.right, prompts)),
        writes=len(writes),
        writes_right=sum(map(judge.right, writes)),
        recovery=judge.recovery(),
        felt=sum(not expected.rules.normal.permits(one) for one in during),
        steady_rate=before / max(1e-9, timeline.fault - timeline.steady),
        findings=findings,
    )


def require_floor(verdict: Verdict, per_second: float, *, felt: bool) -> None:
    """Raise `FloorMissed` where fewer prompts were answered before the fault: what is idle shows nothing. Or where the
    fault is to be `felt` and was not: then it was none."""
    if verdict.steady_rate < per_second:
        raise FloorMissed(
            f"only {verdict.steady_rate:.0f} prompts a second were answered before the fault, "
            f"{per_second:.0f} are needed"
        )
    if felt and not verdict.felt:
        raise FloorMissed("nothing came out otherwise during the fault than without it")


class _Judge:
    """Judges single outcomes of one record."""

    def __init__(self, record: Record, expected: Expectations) -> None:
        self._record, self._expected, self._rules = record, expected, expected.rules
        self._normal = _after_loss(expected.rules) if expected.rules.forgets_slots else expected.rules.normal
        self._either = union(self._normal, expected.rules.during)
        slots_from = record.timeline.healed if expected.rules.forgets_slots else 0.0
        self._freshness = Freshness(record.outcomes, expected.gateways, slots_from)
        self._asked = _asked(record)

    def right(self, outcome: Outcome) -> bool:
        """Whether it is as prescribed for when it was made."""
        return not self._late(outcome) and self._prescription(outcome).permits(outcome)

    def recovery(self) -> float:
        """Seconds from the fault's end to the start of the last prompt that was not as without a fault."""
        healed = self._record.timeline.healed
        bad = [
            one.started - healed
            for one in self._record.outcomes
            if one.kind is Kind.ASSEMBLE
            and one.started >= healed
            and not self._is_repeat(one)
            and not (self._normal.permits(one) and not self._late(one))
        ]
        return max(bad, default=0.0)

    def violations(self) -> Iterator[Violation]:
        """Of all outcomes."""
        fault = self._record.timeline.fault
        for one in self._record.outcomes:
            for rule, what in self._flaws(one):
                call = f"{one.kind.value} {one.number} of person {one.person} through gateway {one.gateway}"
                yield Violation(rule, one.started - fault, what, call)

    def _flaws(self, outcome: Outcome) -> Iterator[tuple[Rule, str]]:
        # While everything is cold a share is not judged; what allows no exception is.
        if outcome.ended >= self._record.timeline.steady and not self.right(outcome):
            rule = Rule.PRESCRIBED if outcome.kind is Kind.ASSEMBLE else Rule.WRITE_PRESCRIBED
            yield rule, _described(outcome)
        if outcome.code in _UNTYPED:
            yield Rule.UNTYPED, _described(outcome)
        if self._late(outcome):
            yield Rule.LATE, f"{outcome.ended - outcome.started:.2f} s"
        yield from ((Rule.FOREIGN, what) for what in self._foreign(outcome))
        yield from (
            (Rule.STALE, what) for what in self._freshness.flaws(outcome, self._asked[_call(outcome)])
        )

    def _late(self, outcome: Outcome) -> bool:
        took = outcome.ended - outcome.started
        return (
            outcome.ok and outcome.kind is Kind.ASSEMBLE and took > self._expected.deadline + _CLIENT_SECONDS
        )

    def _foreign(self, outcome: Outcome) -> Iterator[str]:
        if outcome.answer is None:
            return
        run = self._record.people[0].run
        for canary in outcome.answer.canaries:
            if (canary.run, canary.person) != (run, outcome.person):
                yield f"shows {canary}"

    def _is_repeat(self, outcome: Outcome) -> bool:
        return outcome.started > self._asked[_call(outcome)]

    def _prescription(self, outcome: Outcome) -> Prescription:
        """That of the states that the call may have met. A repeat gets the answer that its turn was given first."""
        timeline, rules = self._record.timeline, self._rules
        before = outcome.started < timeline.fault + rules.settle
        after = outcome.ended >= timeline.healed
        during = outcome.ended >= timeline.fault and outcome.started < timeline.healed + rules.recovery
        if self._is_repeat(outcome) or (during and (before or after)):
            return self._either
        if during:
            return rules.during
        return self._normal if after else rules.normal


def _after_loss(rules: Rules) -> Prescription:
    """Without a fault, once the store of the slots has come back with fewer or older ones."""
    session = rules.normal.sections["SESSION"] | {"EMPTY", "STALE"}
    return rules.normal.with_sections(SESSION=session)


def _asked(record: Record) -> dict[Call, float]:
    """When each call was made first."""
    first: dict[Call, float] = {}
    for one in record.outcomes:
        call = _call(one)
        first[call] = min(first.get(call, one.started), one.started)
    return first


def _call(outcome: Outcome) -> Call:
    return outcome.kind, outcome.person, outcome.number


def _described(outcome: Outcome) -> str:
    """What came out, in short."""
    answer = outcome.answer
    if answer is None:
        return outcome.failure
    sections = " ".join(
        f"{name}={shown.status}{f'/{shown.reason}' if shown.reason else ''}"
        for name, shown in answer.sections.items()
    )
    warnings = sorted({warning.partition(":")[0] for warning in answer.warnings})
    return f"{outcome.failure} {sections} {' '.join(warnings)}".rstrip()
