"""The policy and the requests of the traffic: every text has a canary, and a prompt has room for all of them."""

from typing import Final
from uuid import uuid4

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from benchmarks.faults.outcomes import FACT_KEYS, Kind
from benchmarks.faults.people import ANSWERED, ARCHIVED, ASKED, FACT, SLOT, Canary, Person
from benchmarks.faults.stored import turn_id
from muniment.v1 import (
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_service_pb2,
    prefix_pb2,
    session_pb2,
    types_pb2,
)

SLOT_KEY: Final = "mark"
PREFIX_ID: Final = "desk"
ARCHIVED_TURNS: Final = 8
_PREFIX: Final = "You answer questions about orders, briefly and from what is written here. " * 8
_WORDS: Final = ("parcel", "invoice", "harbour", "supplier", "delivery", "garden", "ticket", "winter")

POLICY: Final = f"""\
policy_id: traffic
sections:
  - prefix: {{prefix_id: {PREFIX_ID}}}
  - facts: {{}}
    budget: {{ceiling_tokens: 1000, priority: 10}}
  - history: {{}}
    budget: {{ceiling_tokens: 250, priority: 30}}
  - session: {{}}
  - question: {{}}
slots:
  filters:
    - {{key: {SLOT_KEY}}}
archive: {{keep_turns: true, on_end_session: true}}
facts:
  allowlist:
""" + "".join(
    f"    - {{key: key_{number}, type: TEXT, kind: PREFERENCE, purpose: Watched.}}\n"
    for number in range(FACT_KEYS)
)


def register_prefix(tenant_id: str) -> prefix_pb2.RegisterPrefixRevisionRequest:
    """The tenant's prefix."""
    return prefix_pb2.RegisterPrefixRevisionRequest(
        tenant_id=tenant_id, prefix_id=PREFIX_ID, text=_PREFIX, request_id=str(uuid4())
    )


def register_policy(tenant_id: str) -> policy_service_pb2.RegisterPolicyRevisionRequest:
    """The tenant's policy."""
    return policy_service_pb2.RegisterPolicyRevisionRequest(
        tenant_id=tenant_id, yaml=POLICY.encode(), request_id=str(uuid4())
    )


def archive(person: Person, start_time: Timestamp) -> history_pb2.ImportHistoryRequest:
    """A past session, whose turns share words with the questions."""
    turns = [
        _turn(
            f"h{number}",
            types_pb2.ROLE_USER,
            f"{_words(number)} {Canary(person.run, person.number, ARCHIVED, number)}",
        )
        for number in range(ARCHIVED_TURNS)
    ]
    past = history_pb2.PastSession(session_id="past", start_time=start_time, turns=turns)
    return history_pb2.ImportHistoryRequest(user=person.user, sessions=[past], request_id=str(uuid4()))


def ask(person: Person, number: int) -> context_pb2.AssembleContextRequest:
    """A question; its number makes its turn."""
    text = f"What about the {_words(number)}? {Canary(person.run, person.number, ASKED, number)}"
    turn = _turn(turn_id(Kind.ASSEMBLE, number), types_pb2.ROLE_USER, text)
    return context_pb2.AssembleContextRequest(session=person.session, turn=turn)


def record_fact(person: Person, number: int) -> fact_pb2.RecordFactsRequest:
    """A new value of the key that the number names. Without a read time: a repeat that is not known would be stored
    again, under another instant."""
    fact = fact_pb2.Fact(
        key=f"key_{number % FACT_KEYS}",
        text=str(Canary(person.run, person.number, FACT, number)),
        origin=types_pb2.FACT_ORIGIN_STATED,
        source="crm",
        writer="traffic",
    )
    return fact_pb2.RecordFactsRequest(user=person.user, facts=[fact], request_id=str(uuid4()))


def record_turn(person: Person, number: int) -> session_pb2.RecordTurnsRequest:
    """The model's answer."""
    text = f"It is on its way. {Canary(person.run, person.number, ANSWERED, number)}"
    turn = _turn(turn_id(Kind.TURNS, number), types_pb2.ROLE_ASSISTANT, text)
    return session_pb2.RecordTurnsRequest(session=person.session, turns=[turn], request_id=str(uuid4()))


def set_slot(person: Person, number: int) -> session_pb2.UpdateSlotsRequest:
    """The filter."""
    value = str(Canary(person.run, person.number, SLOT, number))
    slots = types_pb2.Slots(
        filters=[types_pb2.Filter(key=SLOT_KEY, value=value, certainty=types_pb2.CERTAINTY_CONFIRMED)]
    )
    return session_pb2.UpdateSlotsRequest(
        session=person.session, slots=slots, update_mask=FieldMask(paths=["filters"]), request_id=str(uuid4())
    )


def _turn(name: str, role: types_pb2.Role.ValueType, text: str) -> types_pb2.Turn:
    return types_pb2.Turn(turn_id=name, role=role, contents=[types_pb2.Content(text=text)])


def _words(number: int) -> str:
    return f"{_WORDS[number % len(_WORDS)]} {_WORDS[(number // len(_WORDS)) % len(_WORDS)]}"
