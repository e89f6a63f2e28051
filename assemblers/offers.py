"""What the optional sections offer to the budget: their candidates, judged, rendered and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assemblers.assembly import Conditions
from assemblers.budget import Shelf
from assemblers.records import Material, SectionKind, Slots
from assemblers.sections.facts import PreparedFacts, facts_shelf
from assemblers.sections.history import HistoryCandidates, HistoryInput, history_candidates
from assemblers.sections.material import MaterialCandidates, material_candidates
from assemblers.sections.session import SessionCandidates, session_candidates


@dataclass(frozen=True, slots=True)
class Offers:
    """The candidates by section; None where the policy has no such section, or its material is not there."""

    facts: tuple[PreparedFacts, Shelf] | None
    history: HistoryCandidates | None
    material: MaterialCandidates | None
    session: SessionCandidates | None

    def shelves(self) -> list[Shelf]:
        """The shelves to fill."""
        offered = (self.history, self.material, self.session)
        shelves = [offer.shelf for offer in offered if offer is not None]
        return [self.facts[1], *shelves] if self.facts is not None else shelves


def gather(
    conditions: Conditions,
    facts: PreparedFacts | None,
    history: HistoryInput | None,
    material: Sequence[Material],
    slots: Slots,
    own_message: int,
) -> Offers:
    """The candidates of every section that the policy has.

    `own_message` is what a message of the facts' own costs. Raises ValueError where something was prepared for other
    conditions than these.
    """
    policy, tokens, now, zone = conditions.policy.policy, conditions.tokens, conditions.now, conditions.zone
    sections = {section.kind: section for section in policy.sections}
    offered_facts = offered_history = offered_material = offered_session = None
    known_values: frozenset[str] = frozenset()
    if (section := sections.get(SectionKind.FACTS)) and facts is not None:
        _check_facts(conditions, facts)
        offered_facts = facts, facts_shelf(facts, section, tokens, own_message)
        known_values = facts.whole.values
    if (section := sections.get(SectionKind.HISTORY)) and history is not None:
        if history.archive.counter_id != tokens.counter.id:
            raise ValueError("history: prepared with another tokenizer; call prepare_archive with this one")
        offered_history = history_candidates(history, policy, section, tokens, now, zone, known_values)
    if section := sections.get(SectionKind.MATERIAL):
        offered_material = material_candidates(material, section, tokens, now, zone)
    if section := sections.get(SectionKind.SESSION):
        offered_session = session_candidates(slots, policy, section, tokens, now, zone)
    return Offers(offered_facts, offered_history, offered_material, offered_session)


def _check_facts(conditions: Conditions, facts: PreparedFacts) -> None:
    prepared_for = facts.policy_digest, facts.counter_id, facts.zone
    if prepared_for != (conditions.policy.digest, conditions.tokens.counter.id, conditions.zone):
        raise ValueError("facts: prepared for another policy, tokenizer or zone; call prepare_facts with these")
    if not facts.covers(conditions.now):
        raise ValueError("facts: their ages or expiries changed since; call prepare_facts with this instant")
