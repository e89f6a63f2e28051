"""Reads single values for slots out of the JSON of tools, which is data of strangers: deep, large, of any
shape."""

import json
from dataclasses import dataclass

from assemblers.text import find_invalid

MAX_VALUE_CHARACTERS = 200
"""The longest label or filter value that a slot holds."""

NOT_THERE = "is not there"
"""The reason of a path that leads nowhere."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no usable value. Quotes nothing of the JSON."""

    reason: str


def read_value(document: str, path: str) -> str | Refusal:
    """The text, number (with its own digits) or flag at a dotted path such as `customer.id` or `items.0.id`.

    A list of one element stands for the element; of a longer one only a numbered element is a value.
    """
    try:
        found: object = json.loads(document, parse_int=str, parse_float=str, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return Refusal("is not in readable JSON")
    for step in path.split("."):
        found = _step(found, step)
        if isinstance(found, Refusal):
            return found
    return _scalar(_single(found))


def _no_constant(name: str) -> str:
    raise ValueError(f"{name} is no JSON")


def _step(value: object, step: str) -> object:
    if isinstance(value, list) and step.isascii() and step.isdigit() and len(step) <= 6:
        place = int(step)
        return value[place] if place < len(value) else Refusal(NOT_THERE)
    value = _single(value)
    if isinstance(value, Refusal):
        return value
    if not isinstance(value, dict) or step not in value:
        return Refusal(NOT_THERE)
    return value[step]


def _single(value: object) -> object:
    if not isinstance(value, list):
        return value
    if len(value) == 1:
        return value[0]
    return Refusal(
        "is ambiguous: the list there has no element" if not value else "is one of several in a list"
    )


def _scalar(value: object) -> str | Refusal:
    if isinstance(value, Refusal):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return Refusal(NOT_THERE if value is None else "is no single value")
    value = value.strip()
    if not value:
        return Refusal("is blank")
    return Refusal("holds characters that cannot be stored") if find_invalid(value) else value
