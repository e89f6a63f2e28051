"""Policy revisions and their activation in SQL, mirrored in memory where every assembly looks."""

from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeVar

from storage.cursors import decode_name, decode_number, encode_position
from storage.encryption.key_ring import KeyRing
from storage.encryption.user_cipher import tenant_cipher
from storage.errors import NotFound
from storage.mirrors import Mirror
from storage.ports import Page, PageRequest, PolicyHead, Receipt, StoredPolicy
from storage.sql.announcing import Announcements
from storage.sql.columns import MAX_NUMBER
from storage.sql.engine import Connection, Database, Scope, tenant_scope
from storage.sql.policy_changes import activate_revision, register_revision, roll_back_head
from storage.sql.policy_rows import (
    FIND_ACTIVE,
    FIND_DEFAULT,
    FIND_HEAD,
    FIND_REVISION,
    HEAD_COLUMNS,
    REVISION_COLUMNS,
    head_of,
    revision_of,
)
from storage.sql.receipts import once
from storage.sql.writing import Done, unless_known

T = TypeVar("T")

_KEPT: Final = 4_096

_HEADS = f"SELECT {HEAD_COLUMNS} FROM policy_heads WHERE tenant_id = ? AND policy_id > ? ORDER BY policy_id LIMIT ?"
_REVISIONS = f"""SELECT no, {REVISION_COLUMNS} FROM policy_revisions
    WHERE tenant_id = ? AND policy_id = ? AND no < ? ORDER BY no DESC LIMIT ?"""


class SqlPolicies:
    """The port `PolicyStore`."""

    def __init__(self, database: Database, announcements: Announcements, keys: KeyRing) -> None:
        self._database, self._announcements, self._keys = database, announcements, keys
        self._active: Mirror[StoredPolicy | None] = Mirror(_KEPT)
        self._revisions: Mirror[StoredPolicy | None] = Mirror(_KEPT)

    async def active(self, tenant_id: str, policy_id: str) -> StoredPolicy | None:
        """The active revision of a policy, or of the tenant's default for ""."""
        return await self._active.get((tenant_id, policy_id), lambda: self._read_active(tenant_id, policy_id))

    async def _read_active(self, tenant_id: str, policy_id: str) -> StoredPolicy | None:
        if policy_id:
            row = await self._database.row(tenant_id, FIND_ACTIVE, (tenant_id, policy_id))
        else:
            row = await self._database.row(tenant_id, FIND_DEFAULT, (tenant_id,))
        return None if row is None else revision_of(*row)

    async def revision(self, tenant_id: str, policy_id: str, digest: str) -> StoredPolicy | None:
        """A revision."""
        key = (tenant_id, policy_id, digest)
        return await self._revisions.get(key, lambda: self._read_revision(key))

    async def _read_revision(self, key: tuple[str, str, str]) -> StoredPolicy | None:
        row = await self._database.row(key[0], FIND_REVISION, key)
        return None if row is None else revision_of(*row)

    async def register(self, revision: StoredPolicy, receipt: Receipt[StoredPolicy]) -> StoredPolicy:
        """Store a revision; an equal one is returned as it was first stored."""
        cipher = await tenant_cipher(self._keys, revision.tenant_id)

        def body(connection: Connection) -> Done[StoredPolicy]:
            return once(connection, cipher, receipt, lambda: register_revision(connection, revision))

        def forget() -> None:
            self._revisions.forget((revision.tenant_id, revision.policy_id, revision.digest))

        return await self._write(revision.tenant_id, body, forget)

    async def head(self, tenant_id: str, policy_id: str) -> PolicyHead:
        """The head of a policy."""
        row = await self._database.row(tenant_id, FIND_HEAD, (tenant_id, policy_id))
        if row is None:
            raise NotFound("no such policy")
        return head_of(*row)

    async def heads(self, tenant_id: str, page: PageRequest) -> Page[PolicyHead]:
        """The tenant's policies by id."""
        async with self._database.snapshot(tenant_id) as snapshot:
            heads = await snapshot.rows(_HEADS, (tenant_id, decode_name(page.cursor), page.size + 1), head_of)
        items = tuple(heads[: page.size])
        return Page(items, encode_position(items[-1].policy_id) if len(heads) > page.size else "")

    async def revisions(self, tenant_id: str, policy_id: str, page: PageRequest) -> Page[StoredPolicy]:
        """A policy's revisions, newest first."""
        before = decode_number(page.cursor, MAX_NUMBER)
        async with self._database.snapshot(tenant_id) as snapshot:
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
        cipher = await tenant_cipher(self._keys, tenant_id)

        def body(connection: Connection) -> Done[PolicyHead]:
            def change() -> Done[PolicyHead]:
                return activate_revision(connection, tenant_id, policy_id, digest, as_default, etag, now)

            return once(connection, cipher, receipt, change)

        return await self._write(tenant_id, body, lambda: self._forget_head(tenant_id, policy_id))

    async def roll_back(
        self, tenant_id: str, policy_id: str, etag: str, now: datetime, receipt: Receipt[PolicyHead]
    ) -> PolicyHead:
        """Make the previous revision active again."""
        cipher = await tenant_cipher(self._keys, tenant_id)

        def body(connection: Connection) -> Done[PolicyHead]:
            def change() -> Done[PolicyHead]:
                return roll_back_head(connection, tenant_id, policy_id, etag, now)

            return once(connection, cipher, receipt, change)

        return await self._write(tenant_id, body, lambda: self._forget_head(tenant_id, policy_id))

    def forget_tenant(self, tenant_id: str) -> None:
        """The tenant's policies changed."""
        self._active.forget_tenant(tenant_id)
        self._revisions.forget_tenant(tenant_id)

    def _forget_head(self, tenant_id: str, policy_id: str) -> None:
        self._active.forget((tenant_id, policy_id))
        self._active.forget((tenant_id, ""))

    async def _write(
        self, tenant_id: str, body: Callable[[Connection], Done[T]], forget: Callable[[], None]
    ) -> T:
        with unless_known(forget):
            write = self._database.write(_scope(tenant_id), body, lambda _: forget())
            return await self._announcements.of_tenant(tenant_id, write)


def _scope(tenant_id: str) -> Scope:
    return tenant_scope(tenant_id, "policies")


def _numbered(
    no: int, tenant_id: str, policy_id: str, digest: str, document: bytes, author: str, create_time: int
) -> tuple[int, StoredPolicy]:
    return no, revision_of(tenant_id, policy_id, digest, document, author, create_time)
