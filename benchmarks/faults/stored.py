"""Holds what was acknowledged against what was read back: nothing lost, doubled, invented, foreign, unchained."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from benchmarks.faults.outcomes import Kind, Record, StoredLink
from benchmarks.faults.people import Person, canaries
from benchmarks.faults.verdict import Rule, Violation

GENESIS: Final = "0" * 64
"""The hash before the first record of a chain."""

Place = tuple[str, str, str]
"""User, session, turn."""


def turn_id(kind: Kind, number: int) -> str:
    """The id of the turn that a prompt was asked for, or that was recorded."""
    return f"{'a' if kind is Kind.ASSEMBLE else 'r'}{number}"


def stored_violations(record: Record) -> Iterator[Violation]:
    """All of them; `at` is the end of the run, since that is when they were seen."""
    at = record.timeline.ended - record.timeline.fault
    for rule, what in (*_facts(record), *_turns(record), *_traces(record)):
        yield Violation(rule, at, what)


def _facts(record: Record) -> Iterator[tuple[Rule, str]]:
    asked, acknowledged = _written(record, (Kind.FACTS,))
    for person in record.people:
        found: Counter[str] = Counter()
        for value in record.stored.facts[person.number]:
            for canary in canaries([value]):
                if (canary.run, canary.person) != (person.run, person.number):
                    yield Rule.FOREIGN, f"{canary} among the facts of person {person.number}"
                else:
                    found[str(canary.number)] += 1
        yield from _compared(f"fact of person {person.number}", person, found, asked, acknowledged)


def _turns(record: Record) -> Iterator[tuple[Rule, str]]:
    asked, acknowledged = _written(record, (Kind.TURNS, Kind.ASSEMBLE))
    for person in record.people:
        turns = record.stored.turns[person.number]
        for turn in turns:
            for canary in canaries([turn.text]):
                if (canary.run, canary.person) != (person.run, person.number):
                    yield Rule.FOREIGN, f"{canary} among the turns of person {person.number}"
        found = Counter(turn.turn_id for turn in turns)
        yield from _compared(f"turn of person {person.number}", person, found, asked, acknowledged)


Names = Mapping[int, frozenset[str]]
"""By person."""


def _written(record: Record, kinds: Sequence[Kind]) -> tuple[Names, Names]:
    """The names that were asked for, and those that were acknowledged."""
    asked: dict[int, set[str]] = defaultdict(set)
    acknowledged: dict[int, set[str]] = defaultdict(set)
    for one in record.outcomes:
        if one.kind in kinds:
            name = str(one.number) if one.kind is Kind.FACTS else turn_id(one.kind, one.number)
            asked[one.person].add(name)
            if one.ok:
                acknowledged[one.person].add(name)
    return _frozen(asked), _frozen(acknowledged)


def _frozen(names: Mapping[int, set[str]]) -> Names:
    return {person: frozenset(found) for person, found in names.items()}


def _compared(
    what: str, person: Person, found: Mapping[str, int], asked: Names, acknowledged: Names
) -> Iterator[tuple[Rule, str]]:
    none: frozenset[str] = frozenset()
    for name in sorted(acknowledged.get(person.number, none) - found.keys()):
        yield Rule.LOST, f"{what}: {name}"
    for name in sorted(found.keys() - asked.get(person.number, none)):
        yield Rule.INVENTED, f"{what}: {name}"
    for name, times in found.items():
        if times > 1:
            yield Rule.DOUBLED, f"{what}: {name}, {times} times"


def _traces(record: Record) -> Iterator[tuple[Rule, str]]:
    names = {link.name for links in record.stored.traces.values() for link in links}
    for one in record.outcomes:
        if one.answer is not None and one.answer.trace not in names:
            yield (
                Rule.UNTRACED,
                f"{one.answer.trace or 'no trace'} of turn {one.number} of person {one.person}",
            )
    for tenant_id, links in record.stored.traces.items():
        places: Counter[Place] = Counter((link.user_id, link.session_id, link.turn_id) for link in links)
        for place, times in places.items():
            if times > 1:
                yield Rule.DOUBLED, f"trace of {place}, {times} times"
        yield from ((Rule.CHAIN, f"{tenant_id}: {flaw}") for flaw in chain_flaws(links))


def chain_flaws(links: Iterable[StoredLink]) -> Iterator[str]:
    """Where a chain, oldest first, has a gap or a record that does not follow the one before."""
    previous, expected = GENESIS, 1
    for link in links:
        if link.sequence != expected:
            yield f"number {link.sequence} where {expected} was due"
        elif link.previous_hash != previous:
            yield f"number {link.sequence} does not follow the one before"
        previous, expected = link.record_hash, link.sequence + 1
