"""What the optional sections offer to the budget: their candidates, judged, rendered and counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from assemblers.assembly import Conditions
from assemblers.budget import Shelf
from assemblers.plan import Plan
from assemblers.records import Material, Slots
from assemblers.sections.facts import PreparedFacts, facts_shelf
from assemblers.sections.history import HistoryCandidates, HistoryInput, history_candidates
from assemblers.sections.material import MaterialCandidates, material_candidates
from assemblers.sections.session import SessionCandidates, session_candidates


class Offers(NamedTuple):
    """The candidates by section; None where the policy has no such section, or its material is not there."""

    facts: tuple[PreparedFacts, Shelf] | None
    history: HistoryCandidates | None
    material: MaterialCandidates | None
    session: SessionCandidates | None
    shelves: tuple[Shelf, ...]


def gather(
    conditions: Conditions,
    plan: Plan,
    facts: PreparedFacts | None,
    history: HistoryInput | None,
    material: Sequence[Material],
    slots: Slots,
    question_turn_id: str,
    own_message: int,
) -> Offers:
    """The candidates of every section that the policy has.

    `own_message` is what a message of the facts' own costs. Raises ValueError where something was prepared for other
    conditions than these.
    """
    counter, now, zone = conditions.tokens.counter, conditions.now, conditions.zone
    offered_facts = offered_history = offered_material = offered_session = None
    shelves = []
    if plan.facts is not None and facts is not None:
        offered_facts = facts, _checked_shelf(conditions, plan, facts, own_message)
        shelves.append(offered_facts[1])
    if plan.history is not None and history is not None:
        if history.archive.counter_id != plan.counter_id:
            raise ValueError("history: prepared with another tokenizer; call prepare_archive with this one")
        values = facts.whole.values if offered_facts and facts else frozenset()
        offered_history = history_candidates(history, plan.policy, plan.history, now, zone, values)
        shelves.append(offered_history.shelf)
    if plan.material is not None:
        offered_material = material_candidates(material, plan.material, counter, now, zone)
        shelves.append(offered_material.shelf)
    if plan.session is not None:
        labels = plan.filter_labels
        offered_session = session_candidates(
            slots, question_turn_id, plan.session, labels, counter, now, zone
        )
        shelves.append(offered_session.shelf)
    return Offers(offered_facts, offered_history, offered_material, offered_session, tuple(shelves))


def _checked_shelf(conditions: Conditions, plan: Plan, facts: PreparedFacts, own_message: int) -> Shelf:
    factor = conditions.tokens.factor_permille
    wanted = conditions.policy.digest, plan.counter_id, factor, conditions.zone
    if facts.prepared_for != wanted:
        raise ValueError("facts: prepared for another policy, tokenizer or zone; call prepare_facts anew")
    if not facts.covers(conditions.now):
        raise ValueError("facts: their ages or expiries are others by now; call prepare_facts anew")
    return facts_shelf(facts, own_message)
