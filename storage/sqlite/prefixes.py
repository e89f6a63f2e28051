"""Prefix revisions on SQLite, mirrored in memory where every assembly looks."""

import sqlite3
from typing import Final

from assemblers.records import PrefixRevision
from storage.cursors import decode_number, encode_position
from storage.mirrors import Mirror
from storage.ports import Page, PageRequest, Receipt
from storage.sql.columns import MAX_NUMBER, prefix_from_json, prefix_to_json, to_micros
from storage.sqlite.database import Database
from storage.sqlite.receipts import once

_KEPT: Final = 1_024

_COLUMNS = "tenant_id, prefix_id, digest, create_time, document"
_FIND = f"SELECT {_COLUMNS} FROM prefix_revisions WHERE tenant_id = ? AND prefix_id = ? AND digest = ?"
_NEWEST = f"""SELECT {_COLUMNS} FROM prefix_revisions WHERE tenant_id = ? AND prefix_id = ?
    ORDER BY no DESC LIMIT 1"""
_PAGE = f"""SELECT no, {_COLUMNS} FROM prefix_revisions
    WHERE tenant_id = ? AND prefix_id = ? AND no < ? ORDER BY no DESC LIMIT ?"""
_ADD = """INSERT INTO prefix_revisions (tenant_id, prefix_id, digest, document, create_time, no)
    VALUES (?1, ?2, ?3, ?4, ?5,
    (SELECT coalesce(max(no), 0) + 1 FROM prefix_revisions WHERE tenant_id = ?1 AND prefix_id = ?2))"""


class SqlitePrefixes:
    """The port `PrefixStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: Mirror[PrefixRevision | None] = Mirror(_KEPT)

    async def find(self, tenant_id: str, prefix_id: str, digest: str) -> PrefixRevision | None:
        """The revision, or the newest for digest ""."""
        key = (tenant_id, prefix_id, digest)
        return await self._known.get(key, lambda: self._read(key))

    async def _read(self, key: tuple[str, str, str]) -> PrefixRevision | None:
        row = self._database.row(_FIND, key) if key[2] else self._database.row(_NEWEST, key[:2])
        return None if row is None else prefix_from_json(*row)

    async def register(self, revision: PrefixRevision, receipt: Receipt[PrefixRevision]) -> PrefixRevision:
        """Store a revision; an equal one is returned as it was first stored."""

        def body(connection: sqlite3.Connection) -> PrefixRevision:
            return once(connection, receipt, lambda: _register(connection, revision))

        def committed(_: PrefixRevision) -> None:
            self._known.forget((revision.tenant_id, revision.prefix_id, revision.digest))
            self._known.forget((revision.tenant_id, revision.prefix_id, ""))

        return await self._database.write(body, committed)

    async def revisions(self, tenant_id: str, prefix_id: str, page: PageRequest) -> Page[PrefixRevision]:
        """A prefix's revisions, newest first."""
        before = decode_number(page.cursor, MAX_NUMBER)
        async with self._database.snapshot() as snapshot:
            rows = await snapshot.rows(_PAGE, (tenant_id, prefix_id, before, page.size + 1), _numbered)
        items = rows[: page.size]
        cursor = encode_position(items[-1][0]) if len(rows) > page.size else ""
        return Page(tuple(revision for _, revision in items), cursor)


def _register(connection: sqlite3.Connection, revision: PrefixRevision) -> PrefixRevision:
    key = (revision.tenant_id, revision.prefix_id, revision.digest)
    found = connection.execute(_FIND, key).fetchone()
    if found is not None:
        return prefix_from_json(*found)
    connection.execute(_ADD, (*key, prefix_to_json(revision), to_micros(revision.create_time)))
    return revision


def _numbered(
    no: int, tenant_id: str, prefix_id: str, digest: str, create_time: int, document: bytes
) -> tuple[int, PrefixRevision]:
    return no, prefix_from_json(tenant_id, prefix_id, digest, create_time, document)
