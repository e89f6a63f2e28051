"""Lists come in pages: what to ask for, and what one holds."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items in order, and where the next ones begin: `next_cursor` is "" after the last."""

    items: tuple[T, ...]
    next_cursor: str


@dataclass(frozen=True, slots=True)
class PageRequest:
    """At most `size` items (>= 1) after `cursor` ("" from the start; else a `next_cursor`)."""

    size: int
    cursor: str = ""
