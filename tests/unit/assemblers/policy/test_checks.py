"""Every rule on policies: what breaks it, where it says so, and that a sound policy is left in peace."""

from dataclasses import replace
from datetime import timedelta

import pytest

from assemblers.policy import Diagnostic, Policy, Severity, check
from assemblers.policy.model import (
    ArchiveRules,
    DefaultBudget,
    FactKey,
    FactRules,
    FactsSection,
    FilterKey,
    HistorySection,
    MaterialSection,
    ModelChoice,
    PrefixSection,
    QuestionSection,
    Section,
    SectionBudget,
    SectionSettings,
    SessionSection,
    SlotRules,
    ToolBinding,
)
from assemblers.records import FactKind, Role, SectionKind, ValueType

K = SectionKind
PLAN = FactKey("plan", ValueType.TEXT, FactKind.ATTRIBUTE, "saves a question", values=("starter", "team"))
BINDING = ToolBinding("find", "customer", "customer.id", "customer.name", {"period": "range.month"})
SOUND = Policy(
    policy_id="support",
    sections=(
        Section(K.PREFIX, PrefixSection()),
        Section(K.FACTS, FactsSection(), SectionBudget(200, 1200, 10)),
        Section(K.HISTORY, HistorySection(), SectionBudget(200, 2048, 30)),
        Section(K.MATERIAL, MaterialSection()),
        Section(K.SESSION, SessionSection()),
        Section(K.QUESTION, QuestionSection()),
    ),
    facts=FactRules((PLAN,)),
    slots=SlotRules(("customer",), (FilterKey("period", "Period"),), ("short",), (BINDING,)),
    archive=ArchiveRules(keep_turns=True, on_end_session=True),
)


def findings(policy: Policy) -> list[tuple[str, str, str]]:
    return [(d.severity, d.rule_id, d.field) for d in check(policy)]


def with_settings(settings: SectionSettings) -> Policy:
    sections = tuple(
        replace(s, settings=settings) if isinstance(s.settings, type(settings)) else s for s in SOUND.sections
    )
    return replace(SOUND, sections=sections)


def with_budget(index: int, budget: SectionBudget) -> Policy:
    sections = list(SOUND.sections)
    sections[index] = replace(sections[index], budget=budget)
    return replace(SOUND, sections=tuple(sections))


def with_kinds(*kinds: SectionKind) -> Policy:
    return replace(SOUND, sections=tuple(s for kind in kinds for s in SOUND.sections if s.kind is kind))


def with_key(**changes: object) -> Policy:
    return replace(SOUND, facts=FactRules((replace(PLAN, **changes),)))  # type: ignore[arg-type]  # by name


def with_slots(**changes: object) -> Policy:
    return replace(SOUND, slots=replace(SOUND.slots, **changes))  # type: ignore[arg-type]  # by name


def with_binding(**changes: object) -> Policy:
    return with_slots(tool_bindings=(replace(BINDING, **changes),))  # type: ignore[arg-type]  # by name


def test_a_sound_policy_has_no_findings():
    assert check(SOUND) == ()


def test_the_smallest_policy_is_sound():
    assert check(Policy("tiny", (Section(K.QUESTION, QuestionSection()),))) == ()


DAY = timedelta(days=1)
ERRORS = [
    (replace(SOUND, policy_id="my policy"), "policy.id", "policy_id"),
    (with_kinds(K.PREFIX, K.FACTS, K.HISTORY), "sections.question", "sections"),
    (with_kinds(K.PREFIX, K.FACTS, K.FACTS, K.HISTORY, K.QUESTION), "sections.duplicate", "sections[2]"),
    (with_kinds(K.FACTS, K.PREFIX, K.HISTORY, K.QUESTION), "sections.order", "sections[1]"),
    (
        replace(
            SOUND, sections=(*SOUND.sections[:4], Section(K.SESSION, QuestionSection()), SOUND.sections[5])
        ),
        "sections.settings",
        "sections[4].session",
    ),
    (with_budget(1, SectionBudget(-1)), "budget.negative", "sections[1].budget.floor_tokens"),
    (with_budget(1, SectionBudget(0, -1)), "budget.negative", "sections[1].budget.ceiling_tokens"),
    (with_budget(1, SectionBudget(10, 9)), "budget.ceiling", "sections[1].budget.ceiling_tokens"),
    (with_budget(1, SectionBudget(priority=1001)), "budget.priority", "sections[1].budget.priority"),
    (with_budget(1, SectionBudget(7801)), "budget.floors", "budget.max_input_tokens"),
    (replace(SOUND, budget=DefaultBudget(-1)), "budget.range", "budget.max_input_tokens"),
    (replace(SOUND, budget=DefaultBudget(8000, -1)), "budget.range", "budget.reserve_output_tokens"),
    (with_settings(PrefixSection("a b")), "prefix.id", "sections[0].prefix.prefix_id"),
    (with_settings(PrefixSection(revision="abc")), "prefix.revision", "sections[0].prefix.revision"),
    (with_settings(FactsSection(role=Role.TOOL)), "facts.role", "sections[1].facts.role"),
    (with_settings(FactsSection(heading="a\nb")), "sections.heading", "sections[1].facts.heading"),
    (with_settings(FactsSection(heading="a\u2028b")), "sections.heading", "sections[1].facts.heading"),
    (with_settings(FactsSection(precedence="x" * 513)), "facts.precedence", "sections[1].facts.precedence"),
    (
        with_settings(FactsSection(min_confidence_permille=1001)),
        "facts.confidence",
        "sections[1].facts.min_confidence_permille",
    ),
    (with_settings(FactsSection(max_facts=-1)), "facts.most", "sections[1].facts.max_facts"),
    (with_settings(HistorySection(max_excerpts=201)), "history.most", "sections[2].history.max_excerpts"),
    (
        with_settings(HistorySection(min_score_micros=-1)),
        "history.score",
        "sections[2].history.min_score_micros",
    ),
    (with_settings(HistorySection(far_permille=-1)), "history.weight", "sections[2].history.far_permille"),
    (
        with_settings(HistorySection(vector_permille=1001)),
        "history.blend",
        "sections[2].history.vector_permille",
    ),
    (
        with_settings(HistorySection(keyword_permille=0, vector_permille=0)),
        "history.blend",
        "sections[2].history.keyword_permille",
    ),
    (
        with_settings(HistorySection(min_similarity_permille=1001)),
        "history.similarity",
        "sections[2].history.min_similarity_permille",
    ),
    (with_settings(MaterialSection("a\rb")), "sections.heading", "sections[3].material.heading"),
    (
        with_settings(SessionSection(max_question_characters=0)),
        "session.questions",
        "sections[4].session.max_question_characters",
    ),
    (with_settings(QuestionSection("x" * 65)), "question.label", "sections[5].question.label"),
    (replace(SOUND, model=ModelChoice(provider="")), "model.provider", "model.provider"),
    (replace(SOUND, model=ModelChoice(model="a b")), "model.model", "model.model"),
    (replace(SOUND, model=ModelChoice(tokenizer="é")), "model.tokenizer", "model.tokenizer"),
    (replace(SOUND, facts=FactRules((PLAN, PLAN))), "facts.key_duplicate", "facts.allowlist[1].key"),
    (with_key(key="a b"), "facts.key", "facts.allowlist[0].key"),
    (with_key(purpose=" "), "facts.purpose", "facts.allowlist[0].purpose"),
    (with_key(type=ValueType.INTEGER), "facts.values_type", "facts.allowlist[0].values"),
    (with_key(values=("a", "a")), "facts.values", "facts.allowlist[0].values[1]"),
    (with_key(values=("a", " ")), "facts.values", "facts.allowlist[0].values[1]"),
    (with_key(values=("x" * 201,)), "facts.values", "facts.allowlist[0].values[0]"),
    (with_key(ttl=timedelta(0)), "facts.ttl", "facts.allowlist[0].ttl"),
    (
        replace(SOUND, facts=FactRules((PLAN,), {FactKind.CONTEXT: -DAY})),
        "facts.ttl",
        "facts.ttl.context",
    ),
    (with_slots(focus_types=("customer", "customer")), "slots.focus_duplicate", "slots.focus_types[1]"),
    (with_slots(focus_types=("customer", "a b")), "slots.focus_type", "slots.focus_types[1]"),
    (
        with_slots(filters=(FilterKey("period"), FilterKey("period"))),
        "slots.filter_duplicate",
        "slots.filters[1].key",
    ),
    (with_slots(filters=(FilterKey("period"), FilterKey("$ne"))), "slots.filter", "slots.filters[1].key"),
    (with_slots(filters=(FilterKey("period", "a\nb"),)), "slots.filter_label", "slots.filters[0].label"),
    (
        with_slots(filters=(FilterKey("period", values=("",)),)),
        "slots.filter_values",
        "slots.filters[0].values[0]",
    ),
    (with_slots(formats=("short", "short")), "slots.formats", "slots.formats[1]"),
    (with_slots(ttl=timedelta(0)), "slots.ttl", "slots.ttl"),
    (with_slots(ttl=31 * DAY), "slots.ttl", "slots.ttl"),
    (with_slots(tool_bindings=(BINDING, BINDING)), "slots.tool_duplicate", "slots.tool_bindings[1].tool"),
    (with_binding(tool=""), "slots.tool", "slots.tool_bindings[0].tool"),
    (with_binding(focus_type="invoice"), "slots.focus_unknown", "slots.tool_bindings[0].focus_type"),
    (with_binding(focus_type=""), "slots.focus_missing", "slots.tool_bindings[0].focus_type"),
    (with_binding(focus_id_field=""), "slots.focus_id", "slots.tool_bindings[0].focus_id_field"),
    (with_binding(focus_id_field="a..b"), "slots.path", "slots.tool_bindings[0].focus_id_field"),
    (with_binding(focus_label_field="a."), "slots.path", "slots.tool_bindings[0].focus_label_field"),
    (
        with_binding(filter_arguments={"region": "r"}),
        "slots.filter_unknown",
        "slots.tool_bindings[0].filter_arguments[0].filter",
    ),
    (
        with_binding(filter_arguments={"period": ""}),
        "slots.path",
        "slots.tool_bindings[0].filter_arguments[0].argument",
    ),
    (
        replace(SOUND, archive=ArchiveRules(keep_turns=False, on_end_session=True)),
        "archive.turns",
        "archive.on_end_session",
    ),
    (
        replace(SOUND, archive=ArchiveRules(excerpt_characters=99)),
        "archive.excerpts",
        "archive.excerpt_characters",
    ),
]

WARNINGS = [
    (with_budget(0, SectionBudget(5)), "budget.unused", "sections[0].budget"),
    (with_budget(5, SectionBudget(0, 9)), "budget.unused", "sections[5].budget"),
    (with_settings(FactsSection(role=Role.SYSTEM)), "facts.role", "sections[1].facts.role"),
    (with_settings(FactsSection(role=Role.DEVELOPER)), "facts.role", "sections[1].facts.role"),
    (with_settings(FactsSection(heading="## Facts")), "sections.heading", "sections[1].facts.heading"),
    (with_settings(FactsSection(heading="Facts <s>")), "sections.heading", "sections[1].facts.heading"),
    (replace(SOUND, facts=FactRules()), "facts.no_keys", "sections[1]"),
    (with_kinds(K.HISTORY, K.QUESTION), "facts.not_shown", "facts.allowlist"),
    (with_kinds(K.FACTS, K.QUESTION), "archive.not_shown", "archive.on_end_session"),
    (
        replace(SOUND, facts=FactRules((replace(PLAN, key="Plan"), PLAN))),
        "facts.key_lookalike",
        "facts.allowlist[0].key",
    ),
    (with_key(values=("a\tb",)), "facts.values", "facts.allowlist[0].values[0]"),
    (with_binding(focus_id_field="$.items[0].id"), "slots.path", "slots.tool_bindings[0].focus_id_field"),
    (with_slots(tool_bindings=(ToolBinding("find"),)), "slots.binding_empty", "slots.tool_bindings[0]"),
    (
        replace(SOUND, archive=ArchiveRules(keep_turns=True, include_assistant=True)),
        "archive.unused",
        "archive.include_assistant",
    ),
]


@pytest.mark.parametrize(
    ("policy", "rule", "field"), ERRORS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_error_names_its_rule_and_field_once(policy, rule, field):
    assert [found for found in findings(policy) if found[0] == "ERROR"] == [("ERROR", rule, field)]


@pytest.mark.parametrize(
    ("policy", "rule", "field"), WARNINGS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_warning_names_its_rule_and_field_and_does_not_stop(policy, rule, field):
    found = findings(policy)
    assert ("WARNING", rule, field) in found
    assert {severity for severity, _, _ in found} == {"WARNING"}


@pytest.mark.parametrize("policy", [policy for policy, _, _ in ERRORS + WARNINGS])
def test_every_finding_says_what_is_wrong_and_offers_a_way_out(policy):
    for found in check(policy):
        assert found.message
        assert found.suggestion


@pytest.mark.parametrize(
    ("policy", "suggestion"),
    [
        (with_binding(focus_type="custmer"), "did you mean customer?"),
        (with_binding(filter_arguments={"perod": "p"}), "did you mean period?"),
        (with_binding(filter_arguments={"zzz": "p"}), "use one of period"),
        (with_kinds(K.QUESTION, K.FACTS, K.HISTORY), "use the order FACTS, HISTORY, QUESTION"),
        (with_settings(FactsSection(heading="Facts <s>")), "write 'Facts ‹s>'"),
    ],
)
def test_suggestions_are_ready_to_use(policy, suggestion):
    assert suggestion in [found.suggestion for found in check(policy)]


def test_a_limit_of_zero_is_allowed_and_remarked():
    policy = Policy("p", (Section(K.QUESTION, QuestionSection()),), budget=DefaultBudget(0))
    assert findings(policy) == [("WARNING", "budget.zero", "budget.max_input_tokens")]


def test_floors_may_fill_the_limit_exactly():
    assert check(with_budget(1, SectionBudget(7800))) == ()


def test_several_findings_come_together_in_the_order_of_the_policy():
    policy = replace(with_key(purpose="", ttl=timedelta(0)), policy_id="")
    assert [found.field for found in check(policy)] == [
        "policy_id",
        "facts.allowlist[0].purpose",
        "facts.allowlist[0].ttl",
    ]


def test_a_diagnostic_is_plain_data():
    found = check(replace(SOUND, policy_id=""))[0]
    assert found == Diagnostic(
        Severity.ERROR, "policy.id", "policy_id", "'' is no id", "use 1 to 128 letters, digits and ._:@|+=/-"
    )
