"""Slots as bytes and back, exactly: a list per thing, in the order of the record's fields."""

import json
from typing import Final

from assemblers.records import Certainty, Filter, Focus, RecentQuestion, Slots
from storage.redis.formats import UnknownFormat
from storage.sql.columns import to_json

FORMAT: Final = 1


def encode_slots(slots: Slots) -> bytes:
    """The slots as canonical JSON."""
    focus = slots.focus
    return to_json(
        [
            FORMAT,
            None
            if focus is None
            else [focus.type, focus.id, focus.label, focus.certainty, focus.set_by, focus.turn_id],
            [[item.key, item.value, item.certainty, item.set_by, item.turn_id] for item in slots.filters],
            slots.answer_format,
            [[question.turn_id, question.text] for question in slots.recent_questions],
        ]
    )


def decode_slots(raw: bytes) -> Slots:
    """The slots that `encode_slots` wrote. Raises `UnknownFormat`."""
    try:
        version, focus, filters, answer_format, questions = json.loads(raw.decode())
        if version != FORMAT:
            raise UnknownFormat("slots of another format")
        return Slots(
            None if focus is None else _focus(*focus),
            tuple(_filter(*item) for item in filters),
            answer_format,
            tuple(RecentQuestion(turn_id, text) for turn_id, text in questions),
        )
    except (TypeError, ValueError) as error:
        raise UnknownFormat("slots of another format") from error


def _focus(kind: str, focus_id: str, label: str, certainty: str, set_by: str, turn_id: str) -> Focus:
    return Focus(kind, focus_id, label, Certainty(certainty), set_by, turn_id)


def _filter(key: str, value: str, certainty: str, set_by: str, turn_id: str) -> Filter:
    return Filter(key, value, Certainty(certainty), set_by, turn_id)
