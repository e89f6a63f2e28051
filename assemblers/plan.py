"""What a policy comes to under one model: bounds in raw tokens, headings rendered and counted, paths of fields.

A policy revision never changes, so this is made once and serves every assembly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assemblers.decisions import budget_fields, section_field
from assemblers.memo import IdentityMemo
from assemblers.policy.model import (
    FactsSection,
    HistorySection,
    MaterialSection,
    Policy,
    PolicyRevision,
    PrefixSection,
    QuestionSection,
    Section,
    SessionSection,
)
from assemblers.records import Role, SectionKind
from assemblers.sections.pieces import Piece, heading, heading_line, total_tokens
from assemblers.tokens import ModelTokens, TokenCounter

FENCE = "```\n"
"""Opens and closes the block of slots."""

REQUIRED_KINDS = (SectionKind.PREFIX, SectionKind.QUESTION)

_OWN_FIELDS: Mapping[SectionKind, tuple[str, ...]] = {
    SectionKind.FACTS: ("facts.min_confidence_permille", "facts.max_facts"),
    SectionKind.HISTORY: (
        "history.min_score_micros",
        "history.skip_current_session",
        "history.max_excerpts",
        "history.min_similarity_permille",
    ),
}
_RULE_FIELDS: Mapping[SectionKind, tuple[str, ...]] = {
    SectionKind.FACTS: ("facts.allowlist", "facts.ttl"),
    SectionKind.HISTORY: ("archive.include_assistant",),
}
ALLOWLIST_FIELD, TTL_FIELD, CONFIDENCE_FIELD, MAX_FACTS_FIELD = 3, 4, 5, 6
"""Places in the `fields` of FACTS."""
ASSISTANT_FIELD, THRESHOLD_FIELD, CURRENT_SESSION_FIELD, MAX_EXCERPTS_FIELD, SIMILARITY_FIELD = 3, 4, 5, 6, 7
"""Places in the `fields` of HISTORY."""


@dataclass(frozen=True, slots=True)
class SectionPlan:
    """One section of a policy. Raw tokens; `ceiling` None: no bound of its own. `fields` are paths of policy fields:
    none, the whole budget, the section's ceiling, then those of its rules. Sections of lower `priority` are served
    first."""

    section: Section
    kind: SectionKind
    priority: int
    floor: int
    ceiling: int | None
    headings: tuple[Piece, ...]
    heading_tokens: int
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A policy under one vocabulary and factor. `sections` are in byte order, `optional` without what is required."""

    policy: Policy
    counter_id: str
    """The vocabulary."""
    sections: tuple[SectionPlan, ...]
    optional: tuple[SectionPlan, ...]
    floors: int
    has_prefix: bool
    facts_role: Role | None
    """The role of the facts' own message; None where they open the user's, or there are none."""
    facts: SectionPlan | None
    history: SectionPlan | None
    material: SectionPlan | None
    session: SectionPlan | None
    question_label: str
    filter_labels: Mapping[str, str]
    max_question_characters: int
    """Of a question that the session remembers, whether the policy shows it or not."""


_PLANS: IdentityMemo[Plan] = IdentityMemo(most=256)


def plan_for(policy: PolicyRevision, tokens: ModelTokens) -> Plan:
    """The plan of a policy revision under a model's vocabulary and factor; remembered, within bounds."""
    counter, factor = tokens.counter, tokens.factor_permille
    return _PLANS.get((policy, counter), (factor,), lambda: _make(policy.policy, tokens))


def _make(policy: Policy, tokens: ModelTokens) -> Plan:
    sections = tuple(
        _section(policy, section, tokens)
        for kind in SectionKind
        for section in policy.sections
        if section.kind is kind
    )
    optional = tuple(plan for plan in sections if plan.kind not in REQUIRED_KINDS)
    by_kind = {plan.kind: plan for plan in optional}
    facts = policy.settings(FactsSection)
    question = policy.settings(QuestionSection) or QuestionSection()
    session = policy.settings(SessionSection) or SessionSection()
    # The label must not be empty: a question straight behind a line would not count exactly.
    label = heading_line(question.label) or heading_line(QuestionSection().label)
    return Plan(
        policy=policy,
        counter_id=tokens.counter.id,
        sections=sections,
        optional=optional,
        floors=sum(plan.floor for plan in optional),
        has_prefix=policy.settings(PrefixSection) is not None,
        facts_role=facts.role if facts is not None and facts.role is not Role.USER else None,
        facts=by_kind.get(SectionKind.FACTS),
        history=by_kind.get(SectionKind.HISTORY),
        material=by_kind.get(SectionKind.MATERIAL),
        session=by_kind.get(SectionKind.SESSION),
        question_label=f"{label[:-1]}: ",
        filter_labels={item.key: item.label for item in policy.slots.filters},
        max_question_characters=session.max_question_characters,
    )


def _section(policy: Policy, section: Section, tokens: ModelTokens) -> SectionPlan:
    kind, budget = section.kind, section.budget
    headings = _headings(section, tokens.counter)
    own = (section_field(policy, kind, name) for name in _OWN_FIELDS.get(kind, ()))
    fields = budget_fields(policy, kind, *_RULE_FIELDS.get(kind, ()), *own)
    ceiling = None if budget.ceiling_tokens is None else tokens.raw_limit(budget.ceiling_tokens)
    floor = tokens.raw_limit(budget.floor_tokens)
    return SectionPlan(
        section, kind, budget.priority, floor, ceiling, headings, total_tokens(headings), fields
    )


def _headings(section: Section, counter: TokenCounter) -> tuple[Piece, ...]:
    settings = section.settings
    if isinstance(settings, FactsSection):
        texts = (settings.heading, "facts.heading"), (settings.precedence, "facts.precedence")
        return tuple(line for text, name in texts for line in heading(counter, text, name))
    if isinstance(settings, HistorySection):
        return heading(counter, settings.heading, "history.heading")
    if isinstance(settings, MaterialSection):
        return heading(counter, settings.heading, "material.heading")
    if isinstance(settings, SessionSection):
        opening = heading(counter, settings.heading, "session.heading", FENCE)
        return (*opening, *heading(counter, "", "session.heading", FENCE))
    return ()
