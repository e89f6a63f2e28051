"""What a backend tells the suites about itself."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from storage.ports import Storage


@dataclass(frozen=True, slots=True)
class Backend:
    """A backend on one place. `open` opens it there again, after it was closed, with all that was acknowledged."""

    name: str
    open: Callable[[], Awaitable[Storage]]
