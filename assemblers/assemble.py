"""The pure function at the centre: policy, material and the instant in, prompt and decisions out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assemblers.assembly import Assembly, BudgetReport, Conditions, Prompt, TurnInput
from assemblers.budget import allocate
from assemblers.digests import prompt_digest, section_digests
from assemblers.formats import FORMATS
from assemblers.layout import Page, lay_out
from assemblers.offers import gather
from assemblers.plan import Plan, plan_for
from assemblers.records import Degradation, Material, PrefixRevision, Role, Slots
from assemblers.reports import budget_report, hidden_note, merged, own_degradations, warnings
from assemblers.required import Required, require, room
from assemblers.sections.facts import PreparedFacts
from assemblers.sections.history import HistoryInput
from assemblers.slots import after_question


def assemble(
    conditions: Conditions,
    turn: TurnInput,
    prefix: PrefixRevision | None,
    facts: PreparedFacts | None,
    history: HistoryInput | None,
    material: Sequence[Material],
    slots: Slots,
    degradations: Iterable[Degradation] = (),
) -> Assembly:
    """One prompt within the limit, with the origin of every byte and the fate of every candidate.

    The same arguments give the same bytes in every process. `facts` and `history` None: not asked for by the policy,
    or unavailable, of which `degradations` then says why. The slots are as they were before this question; the
    assembly has them as they are after it.

    Raises BudgetTooSmall with the needs where prefix, question and floors exceed the limit; UnrenderablePrompt where
    a format cannot express the messages; ValueError where facts or history were prepared for other conditions; and
    what the token counter raises for a text that is too large.
    """
    plan = plan_for(conditions.policy, conditions.tokens)
    required = require(conditions, plan, turn, prefix)
    left = room(conditions, plan, required)
    own_message, question_id = required.own_message, turn.question_turn_id
    offers = gather(conditions, plan, facts, history, material, slots, question_id, own_message)
    allocate(left, offers.shelves)
    page = lay_out(required, offers)
    missing = merged([*degradations, *own_degradations(offers)])
    used = required.tokens + sum([shelf.charge for shelf in offers.shelves])
    report = budget_report(conditions, plan, required, offers, missing, used)
    prompt = _prompt(conditions, required, page, report)
    notes = [note for rendered in prompt.rendered.values() for note in rendered.notes]
    summary = offers.history.history.summary() if offers.history is not None else None
    said = (*warnings(missing, required.open.orphans), *hidden_note(offers, page.messages), *notes)
    return Assembly(prompt, page.blocks, summary, _slots_after(plan, turn, slots), missing, said)


def _prompt(conditions: Conditions, required: Required, page: Page, report: BudgetReport) -> Prompt:
    # Where fewer are allowed, the facts' goes first: they change more often.
    marks = page.marks[: max(0, conditions.max_breakpoints)]
    prefix_sha256 = required.prefix.sha256 if required.prefix is not None else ""
    section_sha256 = section_digests(page.messages, page.known_sha256)
    whole = prompt_digest(prefix_sha256, page.messages, section_sha256)
    rendered = {
        name: FORMATS[name].render(page.messages, required.revision, marks) for name in conditions.formats
    }
    return Prompt(
        page.messages, required.revision, report, marks, prefix_sha256, section_sha256, whole, rendered
    )


def _slots_after(plan: Plan, turn: TurnInput, slots: Slots) -> Slots:
    """A tool's turn asks nothing: its question is remembered already."""
    if turn.turn.role is not Role.USER:
        return slots
    return after_question(slots, turn.question, turn.question_turn_id, plan.max_question_characters)
