"""Judges a policy as a whole: what its types cannot say, with the field, the reason and a way out."""

from assemblers.policy.check_facts import check_facts
from assemblers.policy.check_sections import check_sections
from assemblers.policy.check_slots import check_slots
from assemblers.policy.diagnostics import Diagnostic, Diagnostics, check_id, check_range, error, warning
from assemblers.policy.model import Policy
from assemblers.records import SectionKind

_MOST_TOKENS = 2**31 - 1


def check(policy: Policy) -> tuple[Diagnostic, ...]:
    """All findings, in the order of the policy's fields; without an ERROR the policy can be registered."""
    return (
        *check_id("policy.id", "policy_id", policy.policy_id),
        *check_sections(policy),
        *_check_model(policy),
        *_check_limits(policy),
        *check_facts(policy),
        *check_slots(policy),
        *_check_archive(policy),
    )


def _check_model(policy: Policy) -> Diagnostics:
    yield from check_id("model.provider", "model.provider", policy.model.provider)
    yield from check_id("model.model", "model.model", policy.model.model)
    if policy.model.tokenizer:
        yield from check_id("model.tokenizer", "model.tokenizer", policy.model.tokenizer)


def _check_limits(policy: Policy) -> Diagnostics:
    budget = policy.budget
    for name in ("max_input_tokens", "reserve_output_tokens"):
        tokens: int = getattr(budget, name)
        yield from check_range("budget.range", f"budget.{name}", tokens, 0, _MOST_TOKENS)
    if budget.max_input_tokens == 0:
        problem = "no prompt fits into 0 tokens: every call would have to set a limit of its own"
        yield warning("budget.zero", "budget.max_input_tokens", problem, "leave it out for 8000")


def _check_archive(policy: Policy) -> Diagnostics:
    archive = policy.archive
    size = archive.excerpt_characters
    yield from check_range("archive.excerpts", "archive.excerpt_characters", size, 100, 8000)
    if archive.on_end_session and not archive.keep_turns:
        problem = "ending a session cannot archive turns that are not kept"
        yield error("archive.turns", "archive.on_end_session", problem, "set keep_turns: true")
    if archive.include_assistant and not archive.on_end_session:
        problem = "nothing is archived, so the assistant's words are not either"
        yield warning("archive.unused", "archive.include_assistant", problem, "set on_end_session: true")
    if archive.on_end_session and not policy.section(SectionKind.HISTORY):
        problem = "there is no HISTORY section: what is archived would never be shown"
        yield warning(
            "archive.not_shown", "archive.on_end_session", problem, "add `- history: {}` to the sections"
        )
