"""Requests of SessionService as its tests write them."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from muniment.v1 import session_pb2, types_pb2

S = session_pb2
T = types_pb2
NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)
HERE = T.SessionRef(tenant_id="acme", user_id="ann", session_id="s/1")
FOCUS = T.Focus(type="customer", id="c-1", label="Contoso")
NORTHWIND = '{"id": "c-7", "name": "Northwind"}'


def uuid(number: int) -> str:
    return str(UUID(int=number, version=4))


def stamp(instant: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(instant)
    return message


def said(turn_id: str, text: str, role: Any = T.ROLE_USER, **fields: Any) -> types_pb2.Turn:
    return T.Turn(turn_id=turn_id, role=role, contents=[T.Content(text=text)], **fields)


def called(turn_id: str, *call_ids: str, arguments: str = "{}", tool: str = "crm") -> types_pb2.Turn:
    calls = [T.ToolCall(call_id=c, tool_name=tool, arguments_json=arguments) for c in call_ids]
    return T.Turn(
        turn_id=turn_id, role=T.ROLE_ASSISTANT, contents=[T.Content(tool_call=call) for call in calls]
    )


def answered(turn_id: str, call_id: str, result: str, is_error: bool = False) -> types_pb2.Turn:
    tool_result = T.ToolResult(call_id=call_id, tool_name="crm", is_error=is_error, result_json=result)
    return T.Turn(turn_id=turn_id, role=T.ROLE_TOOL, contents=[T.Content(tool_result=tool_result)])


def batch(*turns: types_pb2.Turn, session: types_pb2.SessionRef = HERE, **fields: Any) -> Any:
    return S.RecordTurnsRequest(session=session, turns=turns, **fields)


async def look(rpc: Any, session: types_pb2.SessionRef = HERE, **fields: Any) -> Any:
    return await rpc("GetSession", S.GetSessionRequest(session=session, **fields))


def update(paths: list[str], slots: types_pb2.Slots | None = None, **fields: Any) -> Any:
    mask = FieldMask(paths=paths)
    return S.UpdateSlotsRequest(session=HERE, slots=slots, update_mask=mask, **fields)
