"""Policy revisions and their activation on SQLite, mirrored in memory where every assembly looks."""

import sqlite3
from datetime import datetime
from typing import Final

from storage.cursors import decode_name, decode_number, encode_position
from storage.errors import NotFound
from storage.mirrors import Mirror
from storage.ports import Page, PageRequest, PolicyHead, Receipt, StoredPolicy
from storage.sql.columns import MAX_NUMBER
from storage.sqlite.database import Database
from storage.sqlite.policy_changes import activate_revision, register_revision, roll_back_head
from storage.sqlite.policy_rows import (
    FIND_ACTIVE,
    FIND_DEFAULT,
    FIND_HEAD,
    FIND_REVISION,
    HEAD_COLUMNS,
    REVISION_COLUMNS,
    head_of,
    revision_of,
)
from storage.sqlite.receipts import once

_KEPT: Final = 4_096

_HEADS = f"SELECT {HEAD_COLUMNS} FROM policy_heads WHERE tenant_id = ? AND policy_id > ? ORDER BY policy_id LIMIT ?"
_REVISIONS = f"""SELECT no, {REVISION_COLUMNS} FROM policy_revisions
    WHERE tenant_id = ? AND policy_id = ? AND no < ? ORDER BY no DESC LIMIT ?"""


class SqlitePolicies:
    """The port `PolicyStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._active: Mirror[StoredPolicy | None] = Mirror(_KEPT)
        self._revisions: Mirror[StoredPolicy | None] = Mirror(_KEPT)

    async def active(self, tenant_id: str, policy_id: str) -> StoredPolicy | None:
        """The active revision of a policy, or of the tenant's default for ""."""
        return await self._active.get((tenant_id, policy_id), lambda: self._read_active(tenant_id, policy_id))

    async def _read_active(self, tenant_id: str, policy_id: str) -> StoredPolicy | None:
        if policy_id:
            row = self._database.row(FIND_ACTIVE, (tenant_id, policy_id))
        else:
            row = self._database.row(FIND_DEFAULT, (tenant_id,))
        return None if row is None else revision_of(*row)

    async def revision(self, tenant_id: str, policy_id: str, digest: str) -> StoredPolicy | None:
        """A revision."""
        key = (tenant_id, policy_id, digest)
        return await self._revisions.get(key, lambda: self._read_revision(key))

    async def _read_revision(self, key: tuple[str, str, str]) -> StoredPolicy | None:
        row = self._database.row(FIND_REVISION, key)
        return None if row is None else revision_of(*row)

    async def register(self, revision: StoredPolicy, receipt: Receipt[StoredPolicy]) -> StoredPolicy:
        """Store a revision; an equal one is returned as it was first stored."""

        def body(connection: sqlite3.Connection) -> StoredPolicy:
            return once(connection, receipt, lambda: register_revision(connection, revision))

        key = (revision.tenant_id, revision.policy_id, revision.digest)
        return await self._database.write(body, lambda _: self._revisions.forget(key))

    async def head(self, tenant_id: str, policy_id: str) -> PolicyHead:
        """The head of a policy."""
        row = self._database.row(FIND_HEAD, (tenant_id, policy_id))
        if row is None:
            raise NotFound("no such policy")
        return head_of(*row)

    async def heads(self, tenant_id: str, page: PageRequest) -> Page[PolicyHead]:
        """The tenant's policies by id."""
        async with self._database.snapshot() as snapshot:
            heads = await snapshot.rows(_HEADS, (tenant_id, decode_name(page.cursor), page.size + 1), head_of)
        items = tuple(heads[: page.size])
        return Page(items, encode_position(items[-1].policy_id) if len(heads) > page.size else "")

    async def revisions(self, tenant_id: str, policy_id: str, page: PageRequest) -> Page[StoredPolicy]:
        """A policy's revisions, newest first."""
        before = decode_number(page.cursor, MAX_NUMBER)
        async with self._database.snapshot() as snapshot:
            rows = await snapshot.rows(_REVISIONS, (tenant_id, policy_id, before, page.size + 1), _numbered)
        items = rows[: page.size]
        cursor = encode_position(items[-1][0]) if len(rows) > page.size else ""
        return Page(tuple(revision for _, revision in items), cursor)

    async def activate(
        self,
        tenant_id: str,
        policy_id: str,
        digest: str,
        as_default: bool | None,
        etag: str,
        now: datetime,
        receipt: Receipt[PolicyHead],
    ) -> PolicyHead:
        """Make a revision active."""

        def body(connection: sqlite3.Connection) -> PolicyHead:
            def change() -> PolicyHead:
                return activate_revision(connection, tenant_id, policy_id, digest, as_default, etag, now)

            return once(connection, receipt, change)

        return await self._database.write(body, self._head_changed)

    async def roll_back(
        self, tenant_id: str, policy_id: str, etag: str, now: datetime, receipt: Receipt[PolicyHead]
    ) -> PolicyHead:
        """Make the previous revision active again."""

        def body(connection: sqlite3.Connection) -> PolicyHead:
            return once(
                connection, receipt, lambda: roll_back_head(connection, tenant_id, policy_id, etag, now)
            )

        return await self._database.write(body, self._head_changed)

    def _head_changed(self, head: PolicyHead) -> None:
        self._active.forget((head.tenant_id, head.policy_id))
        self._active.forget((head.tenant_id, ""))


def _numbered(
    no: int, tenant_id: str, policy_id: str, digest: str, document: bytes, author: str, create_time: int
) -> tuple[int, StoredPolicy]:
    return no, revision_of(tenant_id, policy_id, digest, document, author, create_time)
