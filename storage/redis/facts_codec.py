"""Snapshots of facts as bytes and back, exactly: a list per fact, in the order of the record's fields."""

import json
from datetime import datetime
from typing import Final

from assemblers.records import (
    Fact,
    FactKind,
    FactOrigin,
    FactState,
    FactValue,
    Subject,
    UserRef,
    ValueType,
)
from storage.ports import FactSnapshot
from storage.redis.formats import UnknownFormat
from storage.sql.columns import from_micros, to_json, to_micros

FORMAT: Final = 1

_Plain = str | int | float | bool | list[int]
"""A value in JSON, which keeps texts, whole numbers, numbers and flags apart; an instant is a list of its micros."""


def encode_facts(snapshot: FactSnapshot) -> bytes:
    """The snapshot as canonical JSON, without the user."""
    return to_json([FORMAT, snapshot.epoch, [_fields(fact) for fact in snapshot.facts]])


def decode_facts(user: UserRef, raw: bytes) -> FactSnapshot:
    """The user's snapshot that `encode_facts` wrote. Raises `UnknownFormat`."""
    try:
        version, epoch, facts = json.loads(raw.decode())
        if version != FORMAT:
            raise UnknownFormat("facts of another format")
        return FactSnapshot(epoch, tuple(_fact(user, *fields) for fields in facts))
    except (TypeError, ValueError) as error:
        raise UnknownFormat("facts of another format") from error


def _fields(fact: Fact) -> list[object]:
    invalidated = fact.invalidated_time
    return [
        fact.no,
        fact.subject.kind,
        fact.subject.id,
        fact.key,
        fact.type,
        [to_micros(fact.value)] if isinstance(fact.value, datetime) else fact.value,
        fact.kind,
        fact.origin,
        fact.source,
        fact.writer,
        fact.confidence_permille,
        to_micros(fact.read_time),
        to_micros(fact.write_time),
        to_micros(fact.expire_time),
        fact.revision,
        fact.source_turn,
        fact.state,
        fact.superseded_by,
        None if invalidated is None else to_micros(invalidated),
        fact.invalidation_reason,
        fact.commitment.hex(),
    ]


# fmt: off
def _fact(
    user: UserRef, no: int, subject_kind: str, subject_id: str, key: str, value_type: str, value: _Plain, kind: str,
    origin: str, source: str, writer: str, confidence_permille: int, read_time: int, write_time: int, expire_time: int,
    revision: int, source_turn: str, state: str, superseded_by: int, invalidated_time: int | None,
    invalidation_reason: str, commitment: str,
) -> Fact:
    # fmt: on
    return Fact(
        no=no,
        user=user,
        subject=Subject(subject_kind, subject_id),
        key=key,
        type=ValueType(value_type),
        value=_value(value),
        kind=FactKind(kind),
        origin=FactOrigin(origin),
        source=source,
        writer=writer,
        confidence_permille=confidence_permille,
        read_time=from_micros(read_time),
        write_time=from_micros(write_time),
        expire_time=from_micros(expire_time),
        revision=revision,
        source_turn=source_turn,
        state=FactState(state),
        superseded_by=superseded_by,
        invalidated_time=None if invalidated_time is None else from_micros(invalidated_time),
        invalidation_reason=invalidation_reason,
        commitment=bytes.fromhex(commitment),
    )


def _value(plain: _Plain) -> FactValue:
    return from_micros(plain[0]) if isinstance(plain, list) else plain
