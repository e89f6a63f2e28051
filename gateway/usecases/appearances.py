"""In which prompts of a user items appeared: a scan over their traces, newest first."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from assemblers.assembly import OUTCOMES, CandidateBlock
from assemblers.records import Outcome, UserRef
from assemblers.trace.candidates import item_ids, with_refs
from assemblers.trace.codec import decode_record
from assemblers.trace.content_codec import decode_content
from storage.ports import Page, PageRequest, StoredTrace, TraceSelector, TraceStore

_EXCLUDED = OUTCOMES.index(Outcome.EXCLUDED)
MOST_SCANNED = 1_000
"""Traces that one call looks through, so that it ends well within its deadline."""
_READ_AT_ONCE = 64
"""Traces in memory at a time: each may hold a megabyte of material."""
_AT_ONCE = 16
"""Traces that are decoded before others get their turn."""


@dataclass(frozen=True, slots=True)
class Appearance:
    """A trace whose prompt included some of the items that were asked for."""

    trace: StoredTrace
    item_ids: frozenset[str]


async def appearances(
    traces: TraceStore,
    user: UserRef,
    wanted: Collection[str],
    page: PageRequest,
    since: datetime | None = None,
) -> Page[Appearance]:
    """A page of the traces, from `since` on, that included any of the item ids such as `fact/12`.

    A page is at most `page.size` long, and may be shorter, or empty, although there are more: one call looks through a
    bounded number of traces. Items that are known by texts, such as `slot/focus`, are not found in traces whose content
    was erased.
    """
    selector = TraceSelector(user_id=user.user_id, created_from=since)
    found: list[Appearance] = []
    sought, cursor, scanned = frozenset(wanted), page.cursor, 0
    while sought and len(found) < page.size and scanned < MOST_SCANNED:
        # No more than are still missing, so that the page ends where the store's does.
        some = PageRequest(min(_READ_AT_ONCE, page.size - len(found)), cursor)
        read = await traces.list(user.tenant_id, selector, some)
        found += await _among(read.items, sought)
        scanned, cursor = scanned + len(read.items), read.next_cursor
        if not cursor:
            break
    return Page(tuple(found), cursor if sought else "")


async def all_appearances(
    traces: TraceStore, user: UserRef, wanted: Collection[str], since: datetime | None = None
) -> tuple[Appearance, ...]:
    """All of them."""
    found: list[Appearance] = []
    request = PageRequest(_READ_AT_ONCE)
    while True:
        page = await appearances(traces, user, wanted, request, since)
        found += page.items
        if not page.next_cursor:
            return tuple(found)
        request = PageRequest(request.size, page.next_cursor)


async def _among(traces: Collection[StoredTrace], wanted: frozenset[str]) -> tuple[Appearance, ...]:
    found = []
    for index, trace in enumerate(traces, 1):
        ids = included_items(trace, wanted)
        if ids:
            found.append(Appearance(trace, ids))
        if index % _AT_ONCE == 0:
            await asyncio.sleep(0)
    return tuple(found)


def included_items(trace: StoredTrace, wanted: frozenset[str]) -> frozenset[str]:
    """Those of the wanted items that the trace's prompt includes."""
    record = decode_record(trace.record)
    by_number = frozenset().union(*(_included(block, wanted) for block in record.blocks))
    if trace.content is None or all(_is_numbered(item) for item in wanted):
        return by_number
    named = with_refs(record, decode_content(trace.content))
    return frozenset().union(*(_included(block, wanted) for block in named))


def _included(block: CandidateBlock, wanted: frozenset[str]) -> frozenset[str]:
    if not any(item.startswith(block.item_prefix) for item in wanted):
        return frozenset()
    rows = np.flatnonzero(block.outcomes != _EXCLUDED).tolist()
    ids = item_ids(block)
    return wanted.intersection(ids[row] for row in rows)


def _is_numbered(item_id: str) -> bool:
    return item_id.startswith(("fact/", "excerpt/"))
