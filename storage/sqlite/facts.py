"""Durable facts on SQLite."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from assemblers.records import Fact, UserRef
from storage.cursors import decode_number, encode_position
from storage.errors import NotFound
from storage.ports import FactDraft, FactSelector, FactSnapshot, FactWritten, Page, PageRequest, Receipt
from storage.snapshots import SnapshotCache
from storage.sql.columns import MAX_NUMBER
from storage.sqlite.checkpoints import Checkpoints
from storage.sqlite.database import Database
from storage.sqlite.fact_changes import delete_fact, invalidate_facts, record_facts
from storage.sqlite.fact_rows import COLUMNS, EPOCH, FIND, SNAPSHOT, conditions, fact_of
from storage.sqlite.receipts import forget_answers_with, once

CACHE_BYTES: Final = 64 * 2**20
_FACT_BYTES: Final = 1_000
"""A fact in memory without its texts, by measurement with tracemalloc."""
_HEAVY_DRAFTS: Final = 32
"""More drafts than these would hold up the event loop."""


class SqliteFacts:
    """The port `FactStore`."""

    def __init__(self, database: Database, checkpoints: Checkpoints) -> None:
        self._database, self._checkpoints = database, checkpoints
        self._cache: SnapshotCache[FactSnapshot] = SnapshotCache(self._load, _size, CACHE_BYTES)

    def peek(self, user: UserRef) -> FactSnapshot | None:
        """The snapshot if it is in memory."""
        return self._cache.peek(user)

    async def load(self, user: UserRef) -> FactSnapshot:
        """The snapshot."""
        return await self._cache.get(user)

    async def _load(self, user: UserRef) -> FactSnapshot:
        owner = (user.tenant_id, user.user_id)
        async with self._database.snapshot() as snapshot:
            row = snapshot.row(EPOCH, owner)
            facts = await snapshot.rows(SNAPSHOT, owner, lambda *columns: fact_of(user, *columns))
        return FactSnapshot(row[0] if row else 0, tuple(facts))

    async def get(self, user: UserRef, no: int) -> Fact:
        """The fact of a number, in whatever state."""
        row = self._database.row(FIND, (user.tenant_id, user.user_id, no)) if abs(no) <= MAX_NUMBER else None
        if row is None:
            raise NotFound("no such fact")
        return fact_of(user, *row)

    async def list(self, user: UserRef, selector: FactSelector, page: PageRequest) -> Page[Fact]:
        """The selected facts, by number."""
        where, arguments = conditions(user, selector)
        statement = f"SELECT {COLUMNS} FROM facts WHERE {where} AND no > ? ORDER BY no LIMIT ?"
        parameters = [*arguments, decode_number(page.cursor, 0), page.size + 1]
        async with self._database.snapshot() as snapshot:
            facts = await snapshot.rows(statement, parameters, lambda *columns: fact_of(user, *columns))
        more = len(facts) > page.size
        items = tuple(facts[: page.size])
        return Page(items, encode_position(items[-1].no) if more else "")

    async def record(
        self,
        user: UserRef,
        drafts: Sequence[FactDraft],
        now: datetime,
        receipt: Receipt[tuple[FactWritten, ...]],
    ) -> tuple[FactWritten, ...]:
        """Store drafts in their order."""

        def body(connection: sqlite3.Connection) -> tuple[FactWritten, ...]:
            return once(
                connection,
                receipt,
                lambda: record_facts(connection, user, drafts, now),
                user,
                _shown_by_writing,
            )

        return await self._database.write(
            body, lambda _: self._cache.forget(user), len(drafts) > _HEAVY_DRAFTS
        )

    async def invalidate(
        self,
        user: UserRef,
        selector: FactSelector,
        reason: str,
        now: datetime,
        receipt: Receipt[tuple[Fact, ...]],
    ) -> tuple[Fact, ...]:
        """Invalidate the current facts that are selected."""

        def body(connection: sqlite3.Connection) -> tuple[Fact, ...]:
            def change() -> tuple[Fact, ...]:
                return invalidate_facts(connection, user, selector, reason, now)

            return once(connection, receipt, change, user, lambda facts: (fact.no for fact in facts))

        return await self._database.remove(
            body, lambda _: self._cache.forget(user), heavy=selector.no is None
        )

    async def delete(self, user: UserRef, no: int, etag: str, now: datetime, receipt: Receipt[Fact]) -> Fact:
        """Remove the content of a fact for good, also from the answers kept for repeats."""

        def body(connection: sqlite3.Connection) -> Fact:
            def change() -> Fact:
                fact = delete_fact(connection, user, no, etag, now)
                forget_answers_with(connection, user, no)
                return fact

            return once(connection, receipt, change, user)

        def committed(_: Fact) -> None:
            self._cache.forget(user)
            self._checkpoints.scrub()

        return await self._database.remove(body, committed)


def _shown_by_writing(written: tuple[FactWritten, ...]) -> list[int]:
    return [fact.no for outcome in written for fact in (outcome.fact, *outcome.superseded)]


def _size(snapshot: FactSnapshot) -> int:
    texts = sum(len(fact.value) for fact in snapshot.facts if isinstance(fact.value, str))
    return _FACT_BYTES * (1 + len(snapshot.facts)) + 4 * texts
