"""A trace draft as bytes and back: all of it, so that a later append stores what the first one would have."""

import json
from datetime import datetime
from struct import Struct
from typing import Any, Final

from assemblers.records import Role, SessionRef, Turn
from storage.ports import TraceDraft
from storage.sql.columns import contents_from_json, contents_to_json, from_micros, to_json, to_micros

_SIZES: Final = Struct(">III")
"""Of the fields, the record and the content; what follows is the turn's contents."""


def encode_draft(draft: TraceDraft) -> bytes:
    """The draft's bytes."""
    session, turn = draft.session, draft.turn
    fields = {
        "trace_id": draft.trace_id,
        "session": [session.tenant_id, session.user_id, session.session_id],
        "turn_id": draft.turn_id,
        "policy": draft.policy,
        "create_time": to_micros(draft.create_time),
        "body_sha256": draft.body_sha256.hex(),
        "turn": None if turn is None else _turn_fields(turn),
        "turn_expire_time": _micros(draft.turn_expire_time),
        "request_id": draft.request_id,
    }
    head, contents = to_json(fields), b"" if turn is None else contents_to_json(turn.contents)
    sizes = _SIZES.pack(len(head), len(draft.record), len(draft.content))
    return b"".join((sizes, head, draft.record, draft.content, contents))


def decode_draft(raw: bytes) -> TraceDraft:
    """The draft, as `encode_draft` wrote it."""
    head_size, record_size, content_size = _SIZES.unpack_from(raw)
    record_at = _SIZES.size + head_size
    content_at = record_at + record_size
    contents_at = content_at + content_size
    fields = json.loads(raw[_SIZES.size : record_at])
    return TraceDraft(
        trace_id=fields["trace_id"],
        session=SessionRef(*fields["session"]),
        turn_id=fields["turn_id"],
        policy=fields["policy"],
        create_time=from_micros(fields["create_time"]),
        record=raw[record_at:content_at],
        content=raw[content_at:contents_at],
        body_sha256=bytes.fromhex(fields["body_sha256"]),
        turn=None if fields["turn"] is None else _turn(fields["turn"], raw[contents_at:]),
        turn_expire_time=_instant(fields["turn_expire_time"]),
        request_id=fields["request_id"],
    )


def _turn_fields(turn: Turn) -> dict[str, object]:
    return {
        "turn_id": turn.turn_id,
        "role": turn.role,
        "occur_time": to_micros(turn.occur_time),
        "speaker": turn.speaker,
    }


# The fields are of the types that `_turn_fields` gave them.
def _turn(fields: dict[str, Any], contents: bytes) -> Turn:
    return Turn(
        fields["turn_id"],
        Role(fields["role"]),
        contents_from_json(contents),
        from_micros(fields["occur_time"]),
        fields["speaker"],
    )


def _micros(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
