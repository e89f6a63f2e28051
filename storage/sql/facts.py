"""Durable facts in SQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from assemblers.records import Fact, UserRef
from storage.cursors import decode_number, encode_position
from storage.encryption.key_ring import KeyRing
from storage.encryption.user_cipher import reading_cipher, writing_cipher
from storage.errors import NotFound
from storage.ports import FactDraft, FactSelector, FactSnapshot, FactWritten, Page, PageRequest, Receipt
from storage.snapshots import SnapshotCache
from storage.sql.announcing import Announcements
from storage.sql.columns import MAX_NUMBER
from storage.sql.engine import Connection, Database, user_scope
from storage.sql.fact_changes import delete_fact, invalidate_facts, record_facts
from storage.sql.fact_rows import COLUMNS, EPOCH, FIND, SNAPSHOT, conditions, fact_of
from storage.sql.receipts import forget_answers_with, once
from storage.sql.writing import Done, unless_known

CACHE_BYTES: Final = 64 * 2**20
_FACT_BYTES: Final = 1_000
"""A fact in memory without its texts, by measurement with tracemalloc."""
_HEAVY_DRAFTS: Final = 32
"""More drafts than these would hold up the event loop."""


class SqlFacts:
    """The port `FactStore`."""

    def __init__(self, database: Database, announcements: Announcements, keys: KeyRing) -> None:
        self._database, self._announcements, self._keys = database, announcements, keys
        self._cache: SnapshotCache[FactSnapshot] = SnapshotCache(self._load, _size, CACHE_BYTES)

    def peek(self, user: UserRef) -> FactSnapshot | None:
        """The snapshot if it is in memory."""
        return self._cache.peek(user)

    async def load(self, user: UserRef) -> FactSnapshot:
        """The snapshot."""
        return await self._cache.get(user)

    def forget(self, user: UserRef) -> None:
        """The user's facts changed."""
        self._cache.forget(user)

    async def _load(self, user: UserRef) -> FactSnapshot:
        cipher = await reading_cipher(self._keys, user)
        if cipher is None:
            return FactSnapshot(0, ())
        owner = (user.tenant_id, user.user_id)
        async with self._database.snapshot(user.tenant_id) as snapshot:
            row = await snapshot.row(EPOCH, owner)
            facts = await snapshot.rows(SNAPSHOT, owner, lambda *columns: fact_of(cipher, *columns))
        return FactSnapshot(row[0] if row else 0, tuple(facts))

    async def get(self, user: UserRef, no: int) -> Fact:
        """The fact of a number, in whatever state."""
        cipher = await reading_cipher(self._keys, user)
        if cipher is None or abs(no) > MAX_NUMBER:
            raise NotFound("no such fact")
        row = await self._database.row(user.tenant_id, FIND, (user.tenant_id, user.user_id, no))
        if row is None:
            raise NotFound("no such fact")
        return fact_of(cipher, *row)

    async def list(self, user: UserRef, selector: FactSelector, page: PageRequest) -> Page[Fact]:
        """The selected facts, by number."""
        cipher = await reading_cipher(self._keys, user)
        where, arguments = conditions(user, selector)
        statement = f"SELECT {COLUMNS} FROM facts WHERE {where} AND no > ? ORDER BY no LIMIT ?"
        parameters = [*arguments, decode_number(page.cursor, 0), page.size + 1]
        if cipher is None:
            return Page((), "")
        async with self._database.snapshot(user.tenant_id) as snapshot:
            facts = await snapshot.rows(statement, parameters, lambda *columns: fact_of(cipher, *columns))
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
        cipher = await writing_cipher(self._keys, user)

        def body(connection: Connection) -> Done[tuple[FactWritten, ...]]:
            def change() -> Done[tuple[FactWritten, ...]]:
                return record_facts(connection, cipher, drafts, now)

            return once(connection, cipher, receipt, change, _shown_by_writing)

        with unless_known(lambda: self.forget(user)):
            write = self._database.write(
                user_scope(user), body, lambda _: self.forget(user), len(drafts) > _HEAVY_DRAFTS
            )
            return await self._announcements.of_facts(user, write)

    async def invalidate(
        self,
        user: UserRef,
        selector: FactSelector,
        reason: str,
        now: datetime,
        receipt: Receipt[tuple[Fact, ...]],
    ) -> tuple[Fact, ...]:
        """Invalidate the current facts that are selected."""
        cipher = await writing_cipher(self._keys, user)

        def body(connection: Connection) -> Done[tuple[Fact, ...]]:
            def change() -> Done[tuple[Fact, ...]]:
                return invalidate_facts(connection, cipher, selector, reason, now)

            return once(connection, cipher, receipt, change, lambda facts: (fact.no for fact in facts))

        with unless_known(lambda: self.forget(user)):
            write = self._database.remove(
                user_scope(user), body, lambda _: self.forget(user), heavy=selector.no is None
            )
            return await self._announcements.of_facts(user, write)

    async def delete(self, user: UserRef, no: int, etag: str, now: datetime, receipt: Receipt[Fact]) -> Fact:
        """Remove the content of a fact for good, also from the answers kept for repeats."""
        cipher = await writing_cipher(self._keys, user)

        def body(connection: Connection) -> Done[Fact]:
            def change() -> Done[Fact]:
                done = delete_fact(connection, cipher, no, etag, now)
                forget_answers_with(connection, user, no)
                return done

            return once(connection, cipher, receipt, change)

        def committed(_: Done[Fact]) -> None:
            self.forget(user)
            self._database.scrub()

        with unless_known(lambda: self.forget(user)):
            write = self._database.remove(user_scope(user), body, committed)
            return await self._announcements.of_facts(user, write)


def _shown_by_writing(written: tuple[FactWritten, ...]) -> list[int]:
    return [fact.no for outcome in written for fact in (outcome.fact, *outcome.superseded)]


def _size(snapshot: FactSnapshot) -> int:
    texts = sum(len(fact.value) for fact in snapshot.facts if isinstance(fact.value, str))
    return _FACT_BYTES * (1 + len(snapshot.facts)) + 4 * texts
