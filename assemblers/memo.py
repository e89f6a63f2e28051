"""Remembers what was made of immutable objects, by their identity: hashing a whole policy or prefix would cost more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

V = TypeVar("V")


class IdentityMemo(Generic[V]):
    """A bounded memo of a pure function of some objects and numbers. Forgetting only costs time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: dict[tuple[int, ...], tuple[tuple[object, ...], V]] = {}

    def get(self, objects: tuple[object, ...], numbers: tuple[int, ...], make: Callable[[], V]) -> V:
        """What `make` gave for these very objects and these numbers."""
        key = (*map(id, objects), *numbers)
        found = self._made.get(key)
        if found is None:
            if len(self._made) >= self._most:
                self._made.clear()
            # The entry keeps the objects alive, so that their ids cannot pass to others.
            found = self._made[key] = (objects, make())
        return found[1]
