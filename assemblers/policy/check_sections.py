"""Checks of the sections: which there are, in which order, with which shares and settings."""

from assemblers.policy.diagnostics import (
    Diagnostic,
    Diagnostics,
    check_id,
    check_line,
    check_range,
    error,
    warning,
)
from assemblers.policy.model import (
    FactsSection,
    HistorySection,
    MaterialSection,
    Policy,
    PrefixSection,
    QuestionSection,
    Section,
    SectionSettings,
    SessionSection,
)
from assemblers.records import Role, SectionKind

HEADING_CHARACTERS = 512
LABEL_CHARACTERS = 64

_BYTE_ORDER = tuple(SectionKind)
_SETTINGS: dict[SectionKind, type[SectionSettings]] = {
    SectionKind.PREFIX: PrefixSection,
    SectionKind.FACTS: FactsSection,
    SectionKind.HISTORY: HistorySection,
    SectionKind.MATERIAL: MaterialSection,
    SectionKind.SESSION: SessionSection,
    SectionKind.QUESTION: QuestionSection,
}
_ALWAYS_WHOLE = (SectionKind.PREFIX, SectionKind.QUESTION)


def check_sections(policy: Policy) -> Diagnostics:
    """All findings on `sections`."""
    yield from _check_order([section.kind for section in policy.sections])
    for index, section in enumerate(policy.sections):
        yield from _check_budget(section, f"sections[{index}].budget")
        yield from _check_settings(section, f"sections[{index}].{section.kind.lower()}")
    yield from _check_floors(policy)


def _check_order(kinds: list[SectionKind]) -> Diagnostics:
    if SectionKind.QUESTION not in kinds:
        yield error(
            "sections.question", "sections", "there is no QUESTION", "add `- question: {}` at the end"
        )
    for index, kind in enumerate(kinds):
        faster = [k for k in kinds[:index] if _BYTE_ORDER.index(k) > _BYTE_ORDER.index(kind)]
        if kind in kinds[:index]:
            yield error(
                "sections.duplicate", f"sections[{index}]", f"{kind} is there twice", "keep one of them"
            )
        elif faster:
            problem = (
                f"{kind} stands behind {faster[0]}, which changes faster and spoils the cache of what follows"
            )
            remedy = f"use the order {', '.join(k for k in _BYTE_ORDER if k in kinds)}"
            yield error("sections.order", f"sections[{index}]", problem, remedy)


def _check_budget(section: Section, path: str) -> Diagnostics:
    budget = section.budget
    if budget.floor_tokens < 0:
        yield error("budget.negative", f"{path}.floor_tokens", "the floor is below 0", "use 0 or more")
    if budget.ceiling_tokens is not None and budget.ceiling_tokens < 0:
        yield error("budget.negative", f"{path}.ceiling_tokens", "the ceiling is below 0", "use 0 or more")
    elif budget.ceiling_tokens is not None and budget.ceiling_tokens < budget.floor_tokens:
        yield error(
            "budget.ceiling",
            f"{path}.ceiling_tokens",
            f"the ceiling {budget.ceiling_tokens} is below the floor {budget.floor_tokens}",
            f"use {budget.floor_tokens} or more, or lower the floor",
        )
    yield from check_range("budget.priority", f"{path}.priority", budget.priority, 0, 1000)
    if section.kind in _ALWAYS_WHOLE and (budget.floor_tokens > 0 or budget.ceiling_tokens is not None):
        yield warning(
            "budget.unused", path, f"{section.kind} is always whole: its budget has no effect", "take it out"
        )


def _check_floors(policy: Policy) -> Diagnostics:
    floors = sum(max(0, s.budget.floor_tokens) for s in policy.sections if s.kind not in _ALWAYS_WHOLE)
    limit = policy.budget.max_input_tokens
    if floors > limit >= 0:
        yield error(
            "budget.floors",
            "budget.max_input_tokens",
            f"the floors of the sections are {floors} tokens together, the limit is {limit}",
            "lower floors, or raise the limit",
        )


def _check_settings(section: Section, path: str) -> Diagnostics:
    settings = section.settings
    if not isinstance(settings, _SETTINGS[section.kind]):
        yield error(
            "sections.settings", path, f"{section.kind} has settings of another section", "use its own"
        )
    elif isinstance(settings, PrefixSection):
        yield from _check_prefix(settings, path)
    elif isinstance(settings, FactsSection):
        yield from _check_facts(settings, path)
    elif isinstance(settings, HistorySection):
        yield from _check_history(settings, path)
    elif isinstance(settings, MaterialSection):
        yield from _check_heading(settings.heading, path)
    elif isinstance(settings, SessionSection):
        yield from _check_heading(settings.heading, path)
        most = settings.max_question_characters
        yield from check_range("session.questions", f"{path}.max_question_characters", most, 1, 2000)
    else:
        yield from check_line("question.label", f"{path}.label", settings.label, LABEL_CHARACTERS)


def _check_prefix(settings: PrefixSection, path: str) -> Diagnostics:
    yield from check_id("prefix.id", f"{path}.prefix_id", settings.prefix_id)
    revision = settings.revision
    if revision and not (len(revision) == 64 and set(revision) <= set("0123456789abcdef")):
        problem = "a revision is named by 64 hexadecimal digits"
        yield error("prefix.revision", f"{path}.revision", problem, "leave it out for the newest")


def _check_facts(settings: FactsSection, path: str) -> Diagnostics:
    yield from _check_role(settings.role, f"{path}.role")
    yield from _check_heading(settings.heading, path)
    yield from check_line("facts.precedence", f"{path}.precedence", settings.precedence, HEADING_CHARACTERS)
    least = settings.min_confidence_permille
    yield from check_range("facts.confidence", f"{path}.min_confidence_permille", least, 0, 1000)
    if settings.max_facts is not None:
        yield from check_range("facts.most", f"{path}.max_facts", settings.max_facts, 0, 4096)


def _check_role(role: Role, path: str) -> Diagnostics:
    if role in (Role.SYSTEM, Role.DEVELOPER):
        yield warning(
            "facts.role",
            path,
            f"facts in a {role} message are trusted more than stored text deserves",
            "use USER unless every key is written by people you trust",
        )
    elif role is not Role.USER:
        yield error(
            "facts.role", path, f"facts cannot be the words of {role}", "use USER, DEVELOPER or SYSTEM"
        )


def _check_history(settings: HistorySection, path: str) -> Diagnostics:
    yield from _check_heading(settings.heading, path)
    yield from check_range("history.most", f"{path}.max_excerpts", settings.max_excerpts, 0, 200)
    least = settings.min_score_micros
    yield from check_range("history.score", f"{path}.min_score_micros", least, 0, 2**31 - 1)
    for name in ("near_permille", "far_permille", "session_permille"):
        weight: int = getattr(settings, name)
        yield from check_range("history.weight", f"{path}.{name}", weight, 0, 10_000)
    yield from _check_blend(settings, path)


def _check_blend(settings: HistorySection, path: str) -> Diagnostics:
    for name in ("keyword_permille", "vector_permille"):
        weight: int = getattr(settings, name)
        yield from check_range("history.blend", f"{path}.{name}", weight, 0, 1000)
    if settings.keyword_permille == settings.vector_permille == 0:
        problem = "neither keywords nor vectors have a weight: all excerpts would score alike"
        yield error("history.blend", f"{path}.keyword_permille", problem, "give one of the two a weight")
    least = settings.min_similarity_permille
    if least is not None:
        yield from check_range("history.similarity", f"{path}.min_similarity_permille", least, 0, 1000)


def _check_heading(text: str, path: str) -> list[Diagnostic]:
    return list(check_line("sections.heading", f"{path}.heading", text, HEADING_CHARACTERS))
