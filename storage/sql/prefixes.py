"""Prefix revisions in SQL, mirrored in memory where every assembly looks."""

from typing import Final

from assemblers.records import PrefixRevision
from storage.cursors import decode_number, encode_position
from storage.encryption.key_ring import KeyRing
from storage.encryption.user_cipher import tenant_cipher
from storage.mirrors import Mirror
from storage.ports import Page, PageRequest, Receipt
from storage.sql.announcing import Announcements
from storage.sql.columns import MAX_NUMBER, prefix_from_json, prefix_to_json, to_micros
from storage.sql.engine import Connection, Database, tenant_scope
from storage.sql.epochs import advance_tenant
from storage.sql.receipts import once
from storage.sql.writing import Done, unless_known

_KEPT: Final = 1_024

_COLUMNS = "tenant_id, prefix_id, digest, create_time, document"
_FIND = f"SELECT {_COLUMNS} FROM prefix_revisions WHERE tenant_id = ? AND prefix_id = ? AND digest = ?"
_NEWEST = f"""SELECT {_COLUMNS} FROM prefix_revisions WHERE tenant_id = ? AND prefix_id = ?
    ORDER BY no DESC LIMIT 1"""
_PAGE = f"""SELECT no, {_COLUMNS} FROM prefix_revisions
    WHERE tenant_id = ? AND prefix_id = ? AND no < ? ORDER BY no DESC LIMIT ?"""
_ADD = """INSERT INTO prefix_revisions (tenant_id, prefix_id, digest, document, create_time, no)
    VALUES (?, ?, ?, ?, ?,
    (SELECT coalesce(max(no), 0) + 1 FROM prefix_revisions WHERE tenant_id = ? AND prefix_id = ?))"""


class SqlPrefixes:
    """The port `PrefixStore`."""

    def __init__(self, database: Database, announcements: Announcements, keys: KeyRing) -> None:
        self._database, self._announcements, self._keys = database, announcements, keys
        self._known: Mirror[PrefixRevision | None] = Mirror(_KEPT)

    async def find(self, tenant_id: str, prefix_id: str, digest: str) -> PrefixRevision | None:
        """The revision, or the newest for digest ""."""
        key = (tenant_id, prefix_id, digest)
        return await self._known.get(key, lambda: self._read(key))

    async def _read(self, key: tuple[str, str, str]) -> PrefixRevision | None:
        statement, parameters = (_FIND, key) if key[2] else (_NEWEST, key[:2])
        row = await self._database.row(key[0], statement, parameters)
        return None if row is None else prefix_from_json(*row)

    async def register(self, revision: PrefixRevision, receipt: Receipt[PrefixRevision]) -> PrefixRevision:
        """Store a revision; an equal one is returned as it was first stored."""
        cipher = await tenant_cipher(self._keys, revision.tenant_id)

        def body(connection: Connection) -> Done[PrefixRevision]:
            return once(connection, cipher, receipt, lambda: _register(connection, revision))

        def forget() -> None:
            self._known.forget((revision.tenant_id, revision.prefix_id, revision.digest))
            self._known.forget((revision.tenant_id, revision.prefix_id, ""))

        scope = tenant_scope(revision.tenant_id, "prefixes")
        with unless_known(forget):
            write = self._database.write(scope, body, lambda _: forget())
            return await self._announcements.of_tenant(revision.tenant_id, write)

    def forget_tenant(self, tenant_id: str) -> None:
        """The tenant's prefixes changed."""
        self._known.forget_tenant(tenant_id)

    async def revisions(self, tenant_id: str, prefix_id: str, page: PageRequest) -> Page[PrefixRevision]:
        """A prefix's revisions, newest first."""
        before = decode_number(page.cursor, MAX_NUMBER)
        async with self._database.snapshot(tenant_id) as snapshot:
            rows = await snapshot.rows(_PAGE, (tenant_id, prefix_id, before, page.size + 1), _numbered)
        items = rows[: page.size]
        cursor = encode_position(items[-1][0]) if len(rows) > page.size else ""
        return Page(tuple(revision for _, revision in items), cursor)


def _register(connection: Connection, revision: PrefixRevision) -> Done[PrefixRevision]:
    key = (revision.tenant_id, revision.prefix_id, revision.digest)
    found = connection.execute(_FIND, key).fetchone()
    if found is not None:
        return Done(prefix_from_json(*found))
    created = to_micros(revision.create_time)
    connection.execute(_ADD, (*key, prefix_to_json(revision), created, *key[:2]))
    return Done(revision, advance_tenant(connection, revision.tenant_id))


def _numbered(
    no: int, tenant_id: str, prefix_id: str, digest: str, create_time: int, document: bytes
) -> tuple[int, PrefixRevision]:
    return no, prefix_from_json(tenant_id, prefix_id, digest, create_time, document)
