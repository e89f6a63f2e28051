"""Reads the fields of one JSON object with their types, and refuses those that nobody asked for."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NoReturn, TypeVar

from gateway.client.conversations.errors import LineError
from gateway.client.conversations.instants import read_instant

T = TypeVar("T")
_NAMES: Mapping[type, str] = {
    str: "a text", int: "a whole number", float: "a number", dict: "an object", list: "a list", bool: "true or false",
}  # fmt: skip


class Fields:
    """One object of a line. `at` is its path within the line, for messages."""

    def __init__(
        self, values: Mapping[str, object], file: str, line: int, now: datetime, at: str = ""
    ) -> None:
        self._values = values
        self._file, self._line, self._at = file, line, at
        self._now = now
        self._known: list[str] = []

    def refuse(self, name: str, reason: str) -> NoReturn:
        """Raise `LineError` for a field, or for the object where `name` is empty."""
        raise LineError(self._file, self._line, self._path(name), reason)

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        self._known.append(name)
        return self._values.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """A text; required where there is no default."""
        return self._typed(name, str, default)

    def integer(self, name: str) -> int:
        """A whole number; required."""
        return self._typed(name, int, None)

    def number(self, name: str) -> float:
        """A number, with or without a fraction; required."""
        value = self._required(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(name, f"is {_kind(value)}: write a number")
        return float(value)

    def flag(self, name: str) -> bool:
        """True or false; false where it is not there."""
        return self._typed(name, bool, default=False)

    def instant(self, name: str, default: str | None = None) -> datetime:
        """An instant, by offset or date; required where there is no default."""
        text = self.text(name, default)
        try:
            return read_instant(text, self._now)
        except (ValueError, OverflowError) as error:
            reason = str(error) if isinstance(error, ValueError) else "is out of range: write a nearer date"
            self.refuse(name, reason)

    def choice(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        """One of some words."""
        text = self.text(name, default)
        if text not in choices:
            self.refuse(name, f"is {text!r}: write one of {', '.join(choices)}{_near(text, choices)}")
        return text

    def value(self, name: str) -> object:
        """Any JSON value; required."""
        return self._required(name)

    def nested(self, name: str) -> "Fields":
        """An object; required."""
        return self._inner(name, self._typed(name, dict, None))

    def raw_object(self, name: str, default: dict[str, object] | None = None) -> dict[str, object]:
        """An object whose inside is not ours to read."""
        return self._typed(name, dict, default)

    def texts(self, name: str) -> list[str]:
        """A list of texts; empty where there is none."""
        items = self._typed(name, list, [])
        for index, item in enumerate(items):
            if not isinstance(item, str):
                self.refuse(f"{name}[{index}]", f"is {_kind(item)}: write a text")
        return items

    def objects(self, name: str) -> Iterator["Fields"]:
        """The objects of a list; none where there is no such field."""
        for index, item in enumerate(self._typed(name, list, [])):
            if not isinstance(item, dict):
                self.refuse(f"{name}[{index}]", f"is {_kind(item)}: write an object")
            yield self._inner(f"{name}[{index}]", item)

    def finish(self) -> None:
        """Refuse the fields that nobody asked for."""
        for name in self._values:
            if name not in self._known:
                self.refuse(
                    name, f"is not known here: there are {', '.join(self._known)}{_near(name, self._known)}"
                )

    def each(self, name: str, read: Callable[["Fields"], T]) -> list[T]:
        """What `read` makes of each object of a list; fields that it leaves unread are refused."""
        results = []
        for inner in self.objects(name):
            results.append(read(inner))
            inner.finish()
        return results

    def _inner(self, name: str, values: Mapping[str, object]) -> "Fields":
        return Fields(values, self._file, self._line, self._now, self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._at}.{name}" if self._at and name else self._at or name

    def _required(self, name: str) -> object:
        if not self.has(name):
            self.refuse(name, "is missing: write it")
        return self._values[name]

    def _typed(self, name: str, kind: type[T], default: T | None) -> T:
        if default is not None and not self.has(name):
            return default
        value = self._required(name)
        # Not isinstance alone: True is an int for Python, and none for JSON.
        if type(value) is not kind or not isinstance(value, kind):
            self.refuse(name, f"is {_kind(value)}: write {_NAMES[kind]}")
        return value


def _kind(value: object) -> str:
    return _NAMES.get(type(value), "null")


def _near(word: str, words: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, words, 1)
    return f" (did you mean {near[0]}?)" if near else ""
