"""What a write brings, and what is to be thought of one that nobody knows the end of."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from storage.errors import StorageUnavailable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The result of a write's body, and the epoch from then on; None where nothing changed that has one."""

    result: T
    epoch: int | None = None


@contextmanager
def unless_known(forget: Callable[[], None]) -> Iterator[None]:
    """Around a write: where its outcome is not known, it may have been done, so what is in memory is forgotten."""
    try:
        yield
    except (StorageUnavailable, TimeoutError, asyncio.CancelledError):
        forget()
        raise
