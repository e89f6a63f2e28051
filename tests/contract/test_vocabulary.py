"""The contract and the core speak of the same things: enums value by value, the policy field by field."""

import dataclasses
from enum import Enum

import pytest
from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.message import Message

from assemblers import assembly, records, tokens
from assemblers.policy import model
from gateway import errors
from muniment.v1 import errors_pb2, fact_pb2, policy_pb2, prompt_pb2, trace_pb2, types_pb2

ENUMS = [
    (types_pb2.Role, records.Role),
    (types_pb2.SectionKind, records.SectionKind),
    (types_pb2.SectionStatus, records.SectionStatus),
    (types_pb2.Certainty, records.Certainty),
    (types_pb2.FactKind, records.FactKind),
    (types_pb2.FactOrigin, records.FactOrigin),
    (types_pb2.ValueType, records.ValueType),
    (types_pb2.PromptFormat, assembly.PromptFormat),
    (types_pb2.Exactness, tokens.Exactness),
    (prompt_pb2.Reason, records.Reason),
    (trace_pb2.Outcome, records.Outcome),
    (errors_pb2.ErrorReason, errors.Reason),
]


def bare_names(enum: EnumDescriptor) -> list[str]:
    """The values without UNSPECIFIED and without the prefix that protobuf needs."""
    prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
    return [v.name.removeprefix(prefix) for v in enum.values if v.number]


@pytest.mark.parametrize(("wire", "core"), ENUMS, ids=[w.DESCRIPTOR.name for w, _ in ENUMS])
def test_enums_have_the_same_values(wire, core: type[Enum]):
    assert set(bare_names(wire.DESCRIPTOR)) == {member.name for member in core}


def test_sections_are_in_the_same_order():
    assert bare_names(types_pb2.SectionKind.DESCRIPTOR) == [kind.name for kind in records.SectionKind]


def test_fact_states_add_only_expiry_to_what_is_stored():
    assert set(bare_names(fact_pb2.FactState.DESCRIPTOR)) == {s.name for s in records.FactState} | {"EXPIRED"}


POLICY: list[tuple[type[Message], type]] = [
    (policy_pb2.Policy, model.Policy),
    (policy_pb2.ModelChoice, model.ModelChoice),
    (policy_pb2.DefaultBudget, model.DefaultBudget),
    (policy_pb2.SectionBudget, model.SectionBudget),
    (policy_pb2.PrefixSection, model.PrefixSection),
    (policy_pb2.FactsSection, model.FactsSection),
    (policy_pb2.HistorySection, model.HistorySection),
    (policy_pb2.MaterialSection, model.MaterialSection),
    (policy_pb2.SessionSection, model.SessionSection),
    (policy_pb2.QuestionSection, model.QuestionSection),
    (policy_pb2.FactRules, model.FactRules),
    (policy_pb2.FactKey, model.FactKey),
    (policy_pb2.SlotRules, model.SlotRules),
    (policy_pb2.FilterKey, model.FilterKey),
    (policy_pb2.ToolBinding, model.ToolBinding),
    (policy_pb2.ArchiveRules, model.ArchiveRules),
]


@pytest.mark.parametrize(("wire", "core"), POLICY, ids=[c.__name__ for _, c in POLICY])
def test_policies_have_the_same_fields(wire, core):
    assert {f.name for f in wire.DESCRIPTOR.fields} == {f.name for f in dataclasses.fields(core)}


def test_a_policy_tells_unset_from_the_default():
    """A revision is named by the fields that were set, so every plain field needs presence."""
    for wire, _ in POLICY:
        without = [f.name for f in wire.DESCRIPTOR.fields if not f.is_repeated and not f.has_presence]
        assert without == [], wire.DESCRIPTOR.name


def test_section_settings_are_named_by_their_kind():
    settings = policy_pb2.Section.DESCRIPTOR.oneofs_by_name["settings"].fields
    assert [f.name.upper() for f in settings] == [kind.name for kind in records.SectionKind]
