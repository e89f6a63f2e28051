"""What must be in a prompt whatever the budget: prefix, tools, question, the open turn of a tool loop, and frames."""

from __future__ import annotations

from typing import NamedTuple

from assemblers.assembly import BudgetTooSmall, Conditions, Message, Need, Part, TurnInput
from assemblers.costs import prompt_cost, stored_counts
from assemblers.plan import Plan
from assemblers.records import PrefixRevision, Role, SectionKind, Text
from assemblers.sections.prefix import PreparedPrefix, prepare_prefix
from assemblers.sections.question import OpenTurn, open_turn, question_part
from assemblers.tokens import NEUTRAL, ModelTokens

_SOME_LINE = "- fact\n"
"""Stands in for the facts where only matters that there are some."""


class Required(NamedTuple):
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


def require(conditions: Conditions, plan: Plan, turn: TurnInput, prefix: PrefixRevision | None) -> Required:
    """Render and count what must be there. Raises what the counter raises."""
    counter = conditions.tokens.counter
    revision = prefix if plan.has_prefix else None
    prepared = prepare_prefix(revision, counter) if revision is not None else None
    question = question_part(turn, plan.question_label, counter)
    opened = open_turn(turn.open_turns, counter)
    if conditions.formats:
        tokens, own_message = _dearest(conditions, plan, revision, prepared, question, opened)
    else:
        tokens = _neutral(conditions.tokens, revision, prepared, question, opened)
        own_message = conditions.tokens.frame(NEUTRAL).message if plan.facts_role is not None else 0
    return Required(revision, prepared, question, opened, plan.facts_role, tokens, own_message)


def message_list(
    prefix: PreparedPrefix | None,
    facts_role: Role | None,
    facts: Part | None,
    user: tuple[Part, ...],
    opened: OpenTurn,
) -> tuple[Message, ...]:
    """All messages: the facts under their own role or, None, at the head of the user's; then the open turn."""
    head = []
    if prefix is not None and prefix.part is not None:
        head.append(Message(Role.SYSTEM, (prefix.part,)))
    if facts is not None and facts_role is not None:
        head.append(Message(facts_role, (facts,)))
    elif facts is not None:
        user = (facts, *user)
    return (*head, Message(Role.USER, user), *opened.messages)


def room(conditions: Conditions, plan: Plan, required: Required) -> int:
    """Raw tokens left for the optional sections. Raises BudgetTooSmall where their floors do not fit.

    The floors count whether a section has content or not: a budget that is too small shows at once and not only for
    the users with many facts.
    """
    left = conditions.tokens.raw_limit(conditions.limit) - required.tokens
    if left < plan.floors:
        raise BudgetTooSmall(conditions.limit, _needs(conditions.tokens, plan, required))
    return left


def _needs(tokens: ModelTokens, plan: Plan, required: Required) -> tuple[Need, ...]:
    """What the required parts and the floors need, in the model's tokens; their sum is more than the limit."""
    prefix = required.prefix.tokens if required.prefix is not None else 0
    rest = "the question, the calls and results after it, and the frames of all messages"
    found = [
        Need(SectionKind.PREFIX, tokens.scaled(prefix), "the system text and the tool definitions"),
        *(Need(section.kind, section.section.budget.floor_tokens, "its floor") for section in plan.optional),
        Need(SectionKind.QUESTION, tokens.scaled(required.tokens - prefix), rest),
    ]
    return tuple(need for need in found if need.tokens > 0)


def _neutral(
    tokens: ModelTokens,
    revision: PrefixRevision | None,
    prefix: PreparedPrefix | None,
    question: Part,
    opened: OpenTurn,
) -> int:
    """The cost where only neutral messages are asked for, as `prompt_cost` finds it; this one is on the hot path."""
    frame = tokens.frame(NEUTRAL)
    messages = 1 + len(opened.messages)
    total = frame.prompt + question.tokens + opened.tokens
    total += opened.calls * frame.call + opened.results * frame.result
    if revision is not None and prefix is not None:
        total += prefix.tokens
        messages += prefix.part is not None
        if revision.tools:
            total += frame.tools + len(revision.tools) * frame.tool
    return total + messages * frame.message


def _dearest(
    conditions: Conditions,
    plan: Plan,
    revision: PrefixRevision | None,
    prefix: PreparedPrefix | None,
    question: Part,
    opened: OpenTurn,
) -> tuple[int, int]:
    """The cost in the dearest form, and what the facts' own message adds to it."""

    def cost(facts: Part | None) -> int:
        messages = message_list(prefix, plan.facts_role, facts, (question,), opened)
        return prompt_cost(conditions.formats, messages, revision, conditions.tokens, stored_counts)

    bare = cost(None)
    if plan.facts_role is None:
        return bare, 0
    tokens = conditions.tokens.counter.count(_SOME_LINE)
    line = Part(SectionKind.FACTS, Text(_SOME_LINE), _SOME_LINE, (), tokens)
    return bare, cost(line) - tokens - bare
