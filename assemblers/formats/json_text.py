"""Deterministic JSON: compact, keys in the order of their making, numbers copied digit by digit."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring


@dataclass(frozen=True, slots=True)
class Verbatim:
    """JSON that is written as it stands: stored canonical JSON, or a number with its own digits."""

    text: str


Json = bool | int | str | Verbatim | Sequence["Json"] | Mapping[str, "Json"] | None


def write(value: Json) -> str:
    """The value as compact JSON; characters outside ASCII stand for themselves."""
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{encode_basestring(key)}:{write(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(map(write, value)) + "]"
    return json.dumps(value)


def read_members(document: str) -> dict[str, Verbatim] | None:
    """The members of a JSON object, each as its own JSON in the order given; None where it is no object.

    ValueError where it is no JSON.
    """
    found = json.loads(document, parse_int=Verbatim, parse_float=Verbatim)
    if not isinstance(found, dict):
        return None
    return {name: Verbatim(write(item)) for name, item in found.items()}
