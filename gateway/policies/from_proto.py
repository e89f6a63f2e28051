"""From the policy message to the core's typed policy: what is not set takes the default of the model."""

from datetime import timedelta
from typing import Any, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from assemblers.policy.model import (
    DEFAULT_TTL,
    ArchiveRules,
    DefaultBudget,
    FactKey,
    FactRules,
    FactsSection,
    FilterKey,
    HistorySection,
    MaterialSection,
    ModelChoice,
    Policy,
    PrefixSection,
    QuestionSection,
    Retrieval,
    Section,
    SectionBudget,
    SectionSettings,
    SessionSection,
    SlotRules,
    ToolBinding,
)
from assemblers.records import FactKind, FactOrigin, Role, SectionKind, ValueType
from muniment.v1 import policy_pb2, types_pb2

R = TypeVar("R")

_SETTINGS: dict[str, type[SectionSettings]] = {
    "prefix": PrefixSection,
    "facts": FactsSection,
    "history": HistorySection,
    "material": MaterialSection,
    "session": SessionSection,
    "question": QuestionSection,
}
_KINDS = {
    "preference": FactKind.PREFERENCE,
    "context": FactKind.CONTEXT,
    "correction": FactKind.CORRECTION,
    "attribute": FactKind.ATTRIBUTE,
}


def policy_of(message: policy_pb2.Policy) -> Policy:
    """The typed policy. Shape only: `assemblers.policy.checks` judges it."""
    return Policy(
        policy_id=message.policy_id,
        description=message.description,
        sections=tuple(_section(s) for s in message.sections),
        model=_build(ModelChoice, message.model),
        budget=_build(DefaultBudget, message.budget),
        facts=_fact_rules(message.facts),
        slots=_slot_rules(message.slots),
        archive=_build(ArchiveRules, message.archive),
    )


def _build(record: type[R], message: Message, **converted: object) -> R:
    """A record from the plain fields that are set, by name; `converted` holds those of another type."""
    plain: dict[str, Any] = {
        field.name: value
        for field, value in message.ListFields()
        if not field.is_repeated and field.message_type is None and field.enum_type is None
    }
    return record(**plain, **converted)


def _section(message: policy_pb2.Section) -> Section:
    which = message.WhichOneof("settings") or "question"
    settings = getattr(message, which)
    converted: dict[str, object] = {}
    if which == "facts" and settings.HasField("role"):
        converted["role"] = Role(_short(types_pb2.Role.Name(settings.role), "ROLE_"))
    if which == "history" and settings.HasField("retrieval"):
        name = policy_pb2.Retrieval.Name(settings.retrieval)
        converted["retrieval"] = Retrieval(_short(name, "RETRIEVAL_"))
    return Section(
        SectionKind(which.upper()),
        _build(_SETTINGS[which], settings, **converted),
        _build(SectionBudget, message.budget),
    )


def _fact_rules(message: policy_pb2.FactRules) -> FactRules:
    ttl = dict(DEFAULT_TTL)
    ttl.update({_KINDS[field.name]: _length(value) for field, value in message.ttl.ListFields()})
    return FactRules(tuple(_fact_key(k) for k in message.allowlist), ttl)


def _fact_key(message: policy_pb2.FactKey) -> FactKey:
    return FactKey(
        key=message.key,
        type=ValueType(_short(types_pb2.ValueType.Name(message.type), "VALUE_TYPE_")),
        kind=FactKind(_short(types_pb2.FactKind.Name(message.kind), "FACT_KIND_")),
        purpose=message.purpose,
        values=tuple(message.values),
        ttl=_length(message.ttl) if message.HasField("ttl") else None,
        min_origin=_origin(message),
    )


def _origin(message: policy_pb2.FactKey) -> FactOrigin | None:
    if not message.min_origin:
        return None
    return FactOrigin(_short(types_pb2.FactOrigin.Name(message.min_origin), "FACT_ORIGIN_"))


def _slot_rules(message: policy_pb2.SlotRules) -> SlotRules:
    ttl = {"ttl": _length(message.ttl)} if message.HasField("ttl") else {}
    return SlotRules(
        focus_types=tuple(message.focus_types),
        filters=tuple(_build(FilterKey, f, values=tuple(f.values)) for f in message.filters),
        formats=tuple(message.formats),
        tool_bindings=tuple(_binding(b) for b in message.tool_bindings),
        **ttl,
    )


def _binding(message: policy_pb2.ToolBinding) -> ToolBinding:
    return _build(
        ToolBinding, message, filter_arguments={a.filter: a.argument for a in message.filter_arguments}
    )


def _length(duration: Duration) -> timedelta:
    return duration.ToTimedelta()


def _short(name: str, prefix: str) -> str:
    return name.removeprefix(prefix)
