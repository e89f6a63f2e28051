"""What a backend tells the suites about itself."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from storage.ports import Storage


@dataclass(frozen=True, slots=True)
class Backend:
    """A backend on one place. `open` opens it there again, after it was closed, with all that was acknowledged.
    `count_rows` looks beside the ports: how many rows each table has, whoever's they are."""

    name: str
    open: Callable[[], Awaitable[Storage]]
    count_rows: Callable[[], Awaitable[dict[str, int]]]


@asynccontextmanager
async def opened(backend: Backend) -> AsyncIterator[Storage]:
    """The backend, open for as long as the block."""
    storage = await backend.open()
    try:
        yield storage
    finally:
        await storage.close()
