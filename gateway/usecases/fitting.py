"""Pages bounded by bytes: a client's default limit for a message is 4 MiB, and a page stays well below it."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from storage.ports import Page, PageRequest

T = TypeVar("T")

MAX_PAGE_BYTES = 1 << 20
"""How many bytes of content a page holds; one item always fits."""


async def fitting_page(
    load: Callable[[PageRequest], Awaitable[Page[T]]], request: PageRequest, size: Callable[[T], int]
) -> Page[T]:
    """The page that `load` gives, cut to what fits by the `size` of its items in bytes."""
    page = await load(request)
    count = count_fitting(size(item) for item in page.items)
    if count == len(page.items):
        return page
    # Asked for again in the size that fits, since only the store knows where the next page then begins.
    return await load(PageRequest(count, request.cursor))


def count_fitting(sizes: Iterable[int]) -> int:
    """How many of the first sizes fit, one at least where there are any."""
    total = count = 0
    for size in sizes:
        total += size
        if count and total > MAX_PAGE_BYTES:
            break
        count += 1
    return count
