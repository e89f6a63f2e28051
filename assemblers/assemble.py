"""The pure function at the centre: policy, material and the instant in, prompt and decisions out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assemblers.assembly import Assembly, Conditions, Prompt, Rendered, PromptFormat, TurnInput
from assemblers.budget import allocate
from assemblers.digests import prompt_digest, section_digests
from assemblers.formats import FORMATS
from assemblers.layout import Page, breakpoints, lay_out
from assemblers.offers import Offers, gather
from assemblers.records import Degradation, Material, PrefixRevision, Slots
from assemblers.reports import budget_report, merged, own_degradations, section_reports, warnings
from assemblers.required import Required, require, room
from assemblers.sections.facts import PreparedFacts
from assemblers.sections.history import HistoryInput


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
    or unavailable, of which `degradations` then says why. The turn, the prefix and the slots are as they were before
    this call; the assembly has the slots as they are after it.

    Raises BudgetTooSmall with the needs where prefix, question and floors exceed the limit; UnrenderablePrompt where
    a format cannot express the messages; ValueError where facts or history were prepared for other conditions; and
    what the token counter raises for a text that is too large.
    """
    required = require(conditions, turn, prefix)
    left = room(conditions, required)
    offers = gather(conditions, facts, history, material, slots, required.own_message)
    shelves = offers.shelves()
    allocate(left, shelves)
    used = required.tokens + sum(shelf.charge for shelf in shelves)
    page = lay_out(conditions, required, offers)
    missing = merged([*degradations, *own_degradations(offers)])
    prompt = _prompt(conditions, required, offers, page, missing, used)
    notes = [note for rendered in prompt.rendered.values() for note in rendered.notes]
    return Assembly(
        prompt, page.blocks, offers.history.history.summary() if offers.history else None,
        slots, missing, (*warnings(missing, required.open.orphans), *notes),
    )  # fmt: skip


def _prompt(
    conditions: Conditions, required: Required, offers: Offers, page: Page, missing: tuple[Degradation, ...], used: int
) -> Prompt:
    sections = section_reports(conditions, required, offers, page.blocks, missing)
    marks = breakpoints(page.messages, conditions.max_breakpoints)
    prefix_sha256 = required.prefix.sha256 if required.prefix is not None else ""
    section_sha256 = section_digests(page.messages, page.known_sha256)
    rendered: dict[PromptFormat, Rendered] = {
        name: FORMATS[name].render(page.messages, required.revision, marks) for name in conditions.formats
    }
    return Prompt(
        page.messages, required.revision, budget_report(conditions, required, offers, sections, used), marks,
        prefix_sha256, section_sha256, prompt_digest(prefix_sha256, page.messages, section_sha256), rendered,
    )  # fmt: skip
