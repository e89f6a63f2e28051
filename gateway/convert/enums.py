"""Enums of the wire and of the records: both have the same names, the wire's with the enum's own in front."""

from collections.abc import Mapping

from assemblers.records import (
    Certainty,
    FactKind,
    FactOrigin,
    FactState,
    Role,
    SectionKind,
    SectionStatus,
    ValueType,
)
from muniment.v1 import fact_pb2, types_pb2

ROLE_TO: Mapping[Role, types_pb2.Role.ValueType] = {r: types_pb2.Role.Value(f"ROLE_{r}") for r in Role}
ROLE_OF = {number: role for role, number in ROLE_TO.items()}

SECTION_TO: Mapping[SectionKind, types_pb2.SectionKind.ValueType] = {
    kind: types_pb2.SectionKind.Value(f"SECTION_KIND_{kind}") for kind in SectionKind
}

STATUS_TO: Mapping[SectionStatus, types_pb2.SectionStatus.ValueType] = {
    status: types_pb2.SectionStatus.Value(f"SECTION_STATUS_{status}") for status in SectionStatus
}

CERTAINTY_TO: Mapping[Certainty, types_pb2.Certainty.ValueType] = {
    certainty: types_pb2.Certainty.Value(f"CERTAINTY_{certainty}") for certainty in Certainty
}
CERTAINTY_OF = {number: certainty for certainty, number in CERTAINTY_TO.items()}

KIND_TO: Mapping[FactKind, types_pb2.FactKind.ValueType] = {
    kind: types_pb2.FactKind.Value(f"FACT_KIND_{kind}") for kind in FactKind
}
KIND_OF = {number: kind for kind, number in KIND_TO.items()}

ORIGIN_TO: Mapping[FactOrigin, types_pb2.FactOrigin.ValueType] = {
    origin: types_pb2.FactOrigin.Value(f"FACT_ORIGIN_{origin}") for origin in FactOrigin
}
ORIGIN_OF = {number: origin for origin, number in ORIGIN_TO.items()}

VALUE_TYPE_TO: Mapping[ValueType, types_pb2.ValueType.ValueType] = {
    value_type: types_pb2.ValueType.Value(f"VALUE_TYPE_{value_type}") for value_type in ValueType
}

STATE_TO: Mapping[FactState, fact_pb2.FactState.ValueType] = {
    state: fact_pb2.FactState.Value(f"FACT_STATE_{state}") for state in FactState
}
