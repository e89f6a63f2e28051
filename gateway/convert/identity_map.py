"""Values derived from long-lived records, remembered by the record's identity."""

from collections.abc import Callable
from typing import Generic, TypeVar

R = TypeVar("R")
V = TypeVar("V")


class IdentityMap(Generic[R, V]):
    """Remembers `derive(record)` for up to `capacity` records, and then starts anew.

    Holds the records themselves, so that an identity is never taken over by another object. Meant for records that the
    shell keeps between calls, such as a user's rendered facts: a record seen once only costs its place.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: dict[int, tuple[R, V]] = {}

    def get(self, record: R, derive: Callable[[R], V]) -> V:
        """The derived value."""
        entry = self._entries.get(id(record))
        if entry is not None:
            return entry[1]
        if len(self._entries) >= self._capacity:
            self._entries.clear()
        value = derive(record)
        self._entries[id(record)] = (record, value)
        return value
