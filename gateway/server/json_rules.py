"""JSON that the API takes as text: well-formed I-JSON of bounded depth, so that its canonical form exists."""

import json
import math
from collections.abc import Iterable
from typing import NoReturn

MAX_DEPTH = 32
_LARGEST_INTEGER = 2**53 - 1

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


class JsonFault(ValueError):
    """Why a text is not acceptable JSON, with the remedy. Never quotes the text."""


def parse_json(text: str | bytes) -> Json:
    """The value. Raises `JsonFault` for all that RFC 8785 has no canonical form for, and for nesting over 32 levels."""
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        value: Json = _DECODER.decode(decoded)
    except json.JSONDecodeError as error:
        raise JsonFault(
            f"is not valid JSON at line {error.lineno}, column {error.colno}: mend it there"
        ) from None
    except UnicodeDecodeError as error:
        raise JsonFault(f"is not valid UTF-8 at byte {error.start}: encode it as UTF-8") from None
    except RecursionError:
        raise JsonFault(_TOO_DEEP) from None
    _check_depth_and_texts(value)
    return value


_TOO_DEEP = f"is nested too deep: allow at most {MAX_DEPTH} levels"


def _check_depth_and_texts(value: Json) -> None:
    """Level by level, so that a deep value cannot exhaust the stack here. An empty list is a level too."""
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        level = [below for item in level for below in _checked(item)]
        if not level:
            return
    if any(isinstance(item, dict | list) for item in level):
        raise JsonFault(_TOO_DEEP)
    for item in level:
        _checked(item)


def _checked(item: Json) -> Iterable[Json]:
    """What is right below the item, whose own texts are fit to be kept."""
    if isinstance(item, dict):
        for key in item:
            _check_text(key)
        return item.values()
    if isinstance(item, str):
        _check_text(item)
    return item if isinstance(item, list) else ()


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise JsonFault("holds NUL (\\u0000) in a string: remove it")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise JsonFault("holds half a surrogate pair in a string: write the whole character")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise JsonFault("has an object with a name twice: give each name once")
    return members


def _integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > _LARGEST_INTEGER:
        raise JsonFault("has a whole number beyond 2^53 - 1: write it as a string")
    return int(digits)


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise JsonFault("has a number too large for a double: write it as a string")
    return number


def _constant(_: str) -> NoReturn:
    raise JsonFault("has NaN or Infinity, which JSON does not know: write null or a string")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=_constant
)
