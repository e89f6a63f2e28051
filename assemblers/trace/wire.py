"""JSON as traces use it: one spelling per value, read back with the type of every value checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final, TypeVar

from assemblers.trace.errors import MalformedTrace

E = TypeVar("E", bound=Enum)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

write_json: Final[Callable[[object], str]] = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode
"""Compact JSON. Callers give objects with their keys in order, so that equal values have equal bytes."""


quoted: Final[Callable[[str], str]] = json.encoder.encode_basestring
"""A text as a JSON string in its shortest spelling. The header of a record is put together from these, in a
fraction of the time that the generic encoder takes for it."""


def micros(instant: datetime) -> int:
    """An aware instant as microseconds since 1970, exact (a float of seconds would not be)."""
    return (instant - _EPOCH) // _MICROSECOND


def instant_of(value: int) -> datetime:
    """The inverse of `micros`, in UTC. Raises `OverflowError` outside of the years 1 to 9999."""
    return _EPOCH + timedelta(microseconds=value)


def quoted_list(texts: Iterable[str]) -> str:
    """A JSON list of texts."""
    return f"[{','.join(map(quoted, texts))}]"


class Node:
    """A parsed JSON value and where it stands; a wrong type raises `MalformedTrace` with the place.

    Places are put into words only then: a record has hundreds of values.
    """

    __slots__ = ("_key", "_parent", "value")

    def __init__(self, value: object, key: str | int, parent: Node | None = None) -> None:
        self.value = value
        self._key = key
        self._parent = parent

    @property
    def path(self) -> str:
        """The place, such as `header.blocks.0`."""
        return str(self._key) if self._parent is None else f"{self._parent.path}.{self._key}"

    def __getitem__(self, key: str | int) -> Node:
        value = self.value
        if isinstance(value, list):
            if isinstance(key, int) and key < len(value):
                return Node(value[key], key, self)
        elif isinstance(value, dict) and key in value:
            return Node(value[key], key, self)
        raise MalformedTrace(f"{self.path}.{key} is missing")

    def get(self, key: str) -> Node | None:
        """A member that is left out where it is empty."""
        return self[key] if isinstance(self.value, dict) and key in self.value else None

    def listed(self, key: str) -> list[Node]:
        """The items of a list that is left out where it is empty."""
        found = self.get(key)
        return [] if found is None else found.items()

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self._is_not("a text")
        return self.value

    def integer(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self._is_not("a whole number")
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self._is_not("true or false")
        return self.value

    def instant(self) -> datetime:
        try:
            return instant_of(self.integer())
        except OverflowError:
            raise self._is_not("an instant") from None

    def digest(self, size: int) -> bytes:
        text = self.text()
        if len(text) != 2 * size or text.strip("0123456789abcdef"):
            raise self._is_not(f"{size} bytes in hex")
        return bytes.fromhex(text)

    def member(self, enum: type[E]) -> E:
        try:
            return enum(self.text())
        except ValueError:
            raise self._is_not(f"a known {enum.__name__}") from None

    def items(self) -> list[Node]:
        if not isinstance(self.value, list):
            raise self._is_not("a list")
        return [Node(item, i, self) for i, item in enumerate(self.value)]

    def texts(self) -> tuple[str, ...]:
        return tuple(item.text() for item in self.items())

    def pairs(self) -> list[tuple[str, Node]]:
        if not isinstance(self.value, dict):
            raise self._is_not("an object")
        return [(key, Node(item, key, self)) for key, item in self.value.items()]

    def optional(self) -> Node | None:
        """None for null."""
        return None if self.value is None else self

    def _is_not(self, wanted: str) -> MalformedTrace:
        return MalformedTrace(f"{self.path} is not {wanted}")


def read_json(data: bytes, path: str) -> Node:
    """Parse JSON in UTF-8; anything else raises `MalformedTrace`."""
    try:
        return Node(json.loads(data.decode("utf-8"), parse_constant=_refuse), path)
    except (ValueError, RecursionError):
        raise MalformedTrace(f"{path} is not JSON in UTF-8") from None


def _refuse(_: str) -> object:
    raise ValueError("not a number")
