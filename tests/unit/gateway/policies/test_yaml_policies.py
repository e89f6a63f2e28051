"""A policy in YAML: what is read, and what is said, with line and column, of what does not fit."""

from datetime import timedelta

import pytest

from assemblers.policy.model import FactsSection, HistorySection, Retrieval, ToolBinding
from assemblers.records import FactKind, FactOrigin, Role, SectionKind, ValueType
from gateway.policies.diagnostics import Diagnostic
from gateway.policies.reading import Draft, PolicyReader

WHOLE = """
policy_id: support
description: A desk.
model: {provider: anthropic, model: claude-sonnet-5}
budget: {max_input_tokens: 4000, reserve_output_tokens: 500}
sections:
  - prefix: {prefix_id: desk, required: true}
  - facts: {role: developer, min_confidence_permille: 0}
    budget: {floor_tokens: 0, ceiling_tokens: 300, priority: 1}
  - history: {max_excerpts: 5, focus_terms: false, retrieval: HYBRID, min_similarity_permille: 250}
  - material:
  - session: {show_today: false}
  - question: {label: Ask}
facts:
  allowlist:
    - {key: plan, type: TEXT, kind: attribute, purpose: Quote the right limits., values: [starter, team], ttl: 30d,
       min_origin: TOOL}
  ttl: {context: 12h}
slots:
  focus_types: [supplier]
  filters: [{key: period, label: Period}]
  formats: [short]
  tool_bindings:
    - tool: lookup
      focus_type: supplier
      focus_id_field: supplier.id
      filter_arguments: [{filter: period, argument: period}]
  ttl: 90m
archive: {keep_turns: true, on_end_session: true, excerpt_characters: 500}
"""


@pytest.fixture(scope="module")
def reader() -> PolicyReader:
    return PolicyReader()


def only(draft: Draft) -> Diagnostic:
    assert len(draft.diagnostics) == 1, draft.diagnostics
    return draft.diagnostics[0]


def with_line(line: str) -> bytes:
    return f"policy_id: p\nsections:\n  - question: {{}}\n{line}\n".encode()


def test_every_field_is_read(reader: PolicyReader) -> None:
    draft = reader.from_yaml(WHOLE.encode())
    assert draft.policy is not None, draft.diagnostics
    policy = draft.policy
    assert [s.kind for s in policy.sections] == list(SectionKind)
    facts = policy.settings(FactsSection)
    assert facts is not None
    assert (facts.role, facts.min_confidence_permille, facts.max_facts) == (Role.DEVELOPER, 0, None)
    budget = policy.sections[1].budget
    assert (budget.floor_tokens, budget.ceiling_tokens, budget.priority) == (0, 300, 1)
    history = policy.settings(HistorySection)
    assert history is not None
    assert (history.max_excerpts, history.focus_terms) == (5, False)
    assert (history.retrieval, history.min_similarity_permille) == (Retrieval.HYBRID, 250)
    key = policy.facts.allowlist[0]
    assert (key.type, key.kind, key.ttl) == (ValueType.TEXT, FactKind.ATTRIBUTE, timedelta(days=30))
    assert (key.values, key.min_origin) == (("starter", "team"), FactOrigin.TOOL)
    assert policy.facts.ttl[FactKind.CONTEXT] == timedelta(hours=12)
    assert policy.facts.ttl[FactKind.PREFERENCE] == timedelta(days=180)
    assert policy.slots.tool_bindings == (
        ToolBinding("lookup", "supplier", "supplier.id", "", {"period": "period"}),
    )
    assert policy.slots.ttl == timedelta(minutes=90)
    assert policy.archive.excerpt_characters == 500


def test_an_unset_ceiling_differs_from_zero(reader: PolicyReader) -> None:
    zero = reader.from_yaml(
        b"policy_id: p\nsections:\n  - facts: {}\n    budget: {ceiling_tokens: 0}\n  - question: {}\n"
    )
    unset = reader.from_yaml(b"policy_id: p\nsections:\n  - facts: {}\n  - question: {}\n")
    assert zero.policy is not None
    assert unset.policy is not None
    assert zero.policy.sections[0].budget.ceiling_tokens == 0
    assert unset.policy.sections[0].budget.ceiling_tokens is None


@pytest.mark.parametrize(
    ("line", "rule", "column", "suggestion"),
    [
        ("descripton: x", "yaml.unknown", 1, "did you mean `description`?"),
        ("description: 12", "yaml.text", 14, "put it in quotes: '12'"),
        ("description: [a]", "yaml.scalar", 14, ""),
        ("budget: {max_input_tokens: many}", "yaml.integer", 28, ""),
        ("budget: {max_input_tokens: 99999999999}", "yaml.integer", 28, ""),
        ("budget: 7", "yaml.mapping", 9, ""),
        ("archive: {keep_turns: maybe}", "yaml.flag", 23, ""),
        ("slots: {ttl: 1 hour}", "yaml.duration", 14, "write it like 180d or 12h"),
        ("slots: {formats: short}", "yaml.list", 18, "write `- ` before each item"),
        ("slots: {formats: [yes]}", "yaml.text", 19, "put it in quotes: 'yes'"),
        ("policy_id: q", "yaml.duplicate", 1, "keep one of them"),
        ("facts: {allowlist: [{key: k, kind: CONTEXT, purpose: p., type: TXT}]}", "yaml.enum", 64,
         "did you mean TEXT?"),
    ],
)  # fmt: skip
def test_a_misfit_is_named_with_its_place_and_remedy(
    reader: PolicyReader, line: str, rule: str, column: int, suggestion: str
) -> None:
    found = reader.from_yaml(with_line(line)).diagnostics[0]
    assert (found.rule_id, found.line, found.column, found.suggestion) == (rule, 4, column, suggestion)


def test_all_misfits_come_at_once_in_the_order_of_the_text(reader: PolicyReader) -> None:
    draft = reader.from_yaml(b"policy_id: p\nfoo: 1\nsections:\n  - question: {labl: x}\nbar: 2\n")
    assert [(d.line, d.rule_id) for d in draft.diagnostics] == [
        (2, "yaml.unknown"), (4, "yaml.unknown"), (5, "yaml.unknown"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "field", "message"),
    [
        ("  - facts: {role: TOOL}", "sections[1].facts.role",
         "is not one of its values: choose SYSTEM, DEVELOPER, USER"),
        ("facts: {allowlist: [{key: k, kind: CONTEXT, purpose: p.}]}", "facts.allowlist[0].type",
         "is required: choose TEXT, INTEGER, NUMBER, FLAG, INSTANT, STATEMENT"),
    ],
)  # fmt: skip
def test_values_are_named_as_yaml_takes_them(
    reader: PolicyReader, line: str, field: str, message: str
) -> None:
    found = only(reader.from_yaml(with_line(line)))
    assert (found.field, found.message) == (field, message)


def test_in_a_message_values_are_named_as_the_contract_has_them(reader: PolicyReader) -> None:
    draft = reader.from_yaml(
        with_line("facts: {allowlist: [{key: k, kind: CONTEXT, type: TEXT, purpose: p.}]}")
    )
    draft.message.facts.allowlist[0].ClearField("type")
    found = only(reader.from_message(draft.message))
    assert found.message.startswith("is required: choose VALUE_TYPE_TEXT, VALUE_TYPE_INTEGER")


def test_a_rule_of_the_contract_has_its_place_too(reader: PolicyReader) -> None:
    found = only(reader.from_yaml(with_line("archive: {excerpt_characters: 7}")))
    assert (found.rule_id, found.field, found.line) == ("contract", "archive.excerpt_characters", 4)


def test_a_rule_of_meaning_has_its_place_too(reader: PolicyReader) -> None:
    data = b"policy_id: p\nsections:\n  - question: {}\n  - facts: {}\n"
    found = reader.from_yaml(data).diagnostics
    assert any(d.line == 4 and d.field.startswith("sections[1]") for d in found), found


def test_two_settings_in_one_entry_are_refused(reader: PolicyReader) -> None:
    data = b"policy_id: p\nsections:\n  - question: {}\n    facts: {}\n"
    found = only(reader.from_yaml(data))
    assert (found.rule_id, found.line) == ("yaml.choice", 4)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "yaml.mapping"),
        (b"- 1", "yaml.mapping"),
        (b"a: [", "yaml.syntax"),
        (b"\xff\xfe\xff", "yaml.encoding"),
        (b"a: \x00", "yaml.character"),
        (b"a: !!python/object/apply:os.system [id]", "yaml.unknown"),
        (b"a: " + b"[" * 5000, "yaml.depth"),
        (b"a: " + b"[" * 40 + b"]" * 40, "yaml.depth"),
        (b"a: &a [1,1]\nb: &b [*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" + b"".join(
            b"%c: &%c [*%c,*%c,*%c,*%c]\n" % (i + 1, i + 1, i, i, i, i) for i in range(ord("c"), ord("k"))),
         "yaml.size"),
    ],
)  # fmt: skip
def test_hostile_yaml_is_refused_in_bounded_work(reader: PolicyReader, data: bytes, rule: str) -> None:
    assert rule in {d.rule_id for d in reader.from_yaml(data).diagnostics}
