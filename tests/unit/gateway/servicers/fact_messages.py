"""Requests of FactService as its tests write them."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from google.protobuf.timestamp_pb2 import Timestamp

from muniment.v1 import fact_pb2, types_pb2

F = fact_pb2
T = types_pb2
NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)
ANN = T.UserRef(tenant_id="acme", user_id="ann")
BOB = T.UserRef(tenant_id="acme", user_id="bob")


def uuid(number: int) -> str:
    return str(UUID(int=number, version=4))


def stamp(instant: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(instant)
    return message


def fact(key: str = "plan", **fields: Any) -> fact_pb2.Fact:
    if not {"text", "integer", "number", "flag", "instant", "statement"} & fields.keys():
        fields["text"] = "team"
    base: dict[str, Any] = {"origin": T.FACT_ORIGIN_STATED, "source": "crm", "writer": "agent"}
    return F.Fact(key=key, **{**base, **fields})


def offer(*facts: fact_pb2.Fact, user: types_pb2.UserRef = ANN, **fields: Any) -> fact_pb2.RecordFactsRequest:
    return F.RecordFactsRequest(user=user, facts=facts, **fields)


async def record(rpc: Any, *facts: fact_pb2.Fact, **fields: Any) -> list[fact_pb2.FactResult]:
    return list((await rpc("RecordFacts", offer(*facts, **fields))).results)


def customer(number: int) -> types_pb2.Subject:
    return T.Subject(entity=T.Subject.Entity(type="customer", id=f"c/{number}"))
