"""What must be in a prompt whatever the budget: prefix, tools, question, the open turn of a tool loop, and frames."""

from __future__ import annotations

from dataclasses import dataclass

from assemblers.assembly import BudgetTooSmall, Conditions, Message, Need, Part, TurnInput
from assemblers.costs import prompt_cost, stored_counts
from assemblers.policy.model import FactsSection, PrefixSection, QuestionSection, Section
from assemblers.records import PrefixRevision, Role, SectionKind, Text
from assemblers.sections.prefix import PreparedPrefix, prepare_prefix
from assemblers.sections.question import OpenTurn, open_turn, question_part

_SOME_LINE = "- fact\n"
"""Stands in for the facts where only matters that there are some."""


@dataclass(frozen=True, slots=True)
class Required:
    """The required parts. `tokens` (raw) is their cost in the dearest form, frames and tools included.

    `facts_role` is the role of the facts' own message, None where they open the user's; `own_message` is what that
    message costs beyond the facts, in the dearest form.
    """

    revision: PrefixRevision | None
    prefix: PreparedPrefix | None
    question: Part
    open: OpenTurn
    facts_role: Role | None
    tokens: int
    own_message: int

    def messages(self, facts: Part | None, volatile: tuple[Part, ...]) -> tuple[Message, ...]:
        """All messages, with the facts where the policy wants them and the volatile parts before the question."""
        head = []
        if self.prefix is not None and self.prefix.part is not None:
            head.append(Message(Role.SYSTEM, (self.prefix.part,)))
        if facts is not None and self.facts_role is not None:
            head.append(Message(self.facts_role, (facts,)))
        elif facts is not None:
            volatile = (facts, *volatile)
        return (*head, Message(Role.USER, (*volatile, self.question)), *self.open.messages)


def require(conditions: Conditions, turn: TurnInput, prefix: PrefixRevision | None) -> Required:
    """Render and count what must be there. Raises what the counter raises."""
    policy, counter = conditions.policy.policy, conditions.tokens.counter
    if policy.settings(PrefixSection) is None:
        prefix = None
    settings = policy.settings(QuestionSection) or QuestionSection()
    facts = policy.settings(FactsSection)
    facts_role = facts.role if facts is not None and facts.role is not Role.USER else None
    prepared = prepare_prefix(prefix, counter) if prefix is not None else None
    question, opened = question_part(turn, settings, counter), open_turn(turn.open_turns, counter)
    bare = Required(prefix, prepared, question, opened, facts_role, 0, 0)
    tokens = _cost(conditions, bare, None)
    own_message = 0
    if facts_role is not None:
        line = Part(SectionKind.FACTS, Text(_SOME_LINE), _SOME_LINE, (), counter.count(_SOME_LINE))
        own_message = _cost(conditions, bare, line) - line.tokens - tokens
    return Required(prefix, prepared, question, opened, facts_role, tokens, own_message)


def room(conditions: Conditions, required: Required) -> int:
    """Raw tokens left for the optional sections. Raises BudgetTooSmall where their floors do not fit.

    The floors count whether a section has content or not: a budget that is too small shows at once and not only for
    the users with many facts.
    """
    tokens = conditions.tokens
    left = tokens.raw_limit(conditions.limit) - required.tokens
    if left < sum(tokens.raw_limit(section.budget.floor_tokens) for section in _optional(conditions)):
        raise BudgetTooSmall(conditions.limit, needs(conditions, required))
    return left


def needs(conditions: Conditions, required: Required) -> tuple[Need, ...]:
    """What the required parts and the floors need, in the model's tokens; their sum is more than a refused limit."""
    scaled = conditions.tokens.scaled
    prefix = 0
    if required.prefix is not None:
        prefix = required.prefix.tool_tokens + (required.prefix.part.tokens if required.prefix.part else 0)
    found = [
        Need(SectionKind.PREFIX, scaled(prefix), "the system text and the tool definitions"),
        *(
            Need(section.kind, section.budget.floor_tokens, "its floor")
            for section in _optional(conditions)
        ),
        Need(
            SectionKind.QUESTION, scaled(required.tokens - prefix),
            "the question, the calls and results after it, and the frames of all messages",
        ),
    ]  # fmt: skip
    return tuple(need for need in found if need.tokens > 0)


def _optional(conditions: Conditions) -> list[Section]:
    required = (SectionKind.PREFIX, SectionKind.QUESTION)
    return [section for section in conditions.policy.policy.sections if section.kind not in required]


def _cost(conditions: Conditions, required: Required, facts: Part | None) -> int:
    messages = required.messages(facts, ())
    return prompt_cost(conditions.formats, messages, required.revision, conditions.tokens, stored_counts)
