"""What writing does to policies, within the caller's transaction: register, activate, roll back."""

from datetime import datetime

from storage.errors import EtagMismatch, NotFound
from storage.ports import PolicyHead, StoredPolicy
from storage.sql.columns import to_micros
from storage.sql.engine import Connection
from storage.sql.epochs import advance_tenant
from storage.sql.policy_rows import FIND_HEAD, FIND_REVISION, head_of, revision_of
from storage.sql.writing import Done

_ADD_REVISION = """INSERT INTO policy_revisions (tenant_id, policy_id, digest, document, author, create_time, no)
    VALUES (?, ?, ?, ?, ?, ?,
    (SELECT coalesce(max(no), 0) + 1 FROM policy_revisions WHERE tenant_id = ? AND policy_id = ?))"""
_ADD_HEAD = """INSERT INTO policy_heads (tenant_id, policy_id, active, previous, is_default, version, update_time)
    VALUES (?, ?, '', '', 0, 1, ?) ON CONFLICT (tenant_id, policy_id) DO NOTHING"""
_ACTIVATE = """UPDATE policy_heads SET active = ?, previous = ?, is_default = ?, version = version + 1, update_time = ?
    WHERE tenant_id = ? AND policy_id = ?"""
_FIND_DEFAULT = "SELECT policy_id FROM policy_heads WHERE tenant_id = ? AND is_default = 1"
_RETIRE_DEFAULT = """UPDATE policy_heads SET is_default = 0, version = version + 1, update_time = ?
    WHERE tenant_id = ? AND is_default = 1 AND policy_id <> ?"""


def register_revision(connection: Connection, revision: StoredPolicy) -> Done[StoredPolicy]:
    """Store a revision unless it is there; gives it as it was first stored."""
    key = (revision.tenant_id, revision.policy_id, revision.digest)
    found = connection.execute(FIND_REVISION, key).fetchone()
    if found is not None:
        return Done(revision_of(*found))
    created = to_micros(revision.create_time)
    connection.execute(_ADD_REVISION, (*key, revision.document, revision.author, created, *key[:2]))
    connection.execute(_ADD_HEAD, (revision.tenant_id, revision.policy_id, created))
    return Done(revision, advance_tenant(connection, revision.tenant_id))


def activate_revision(
    connection: Connection,
    tenant_id: str,
    policy_id: str,
    digest: str,
    as_default: bool | None,
    etag: str,
    now: datetime,
) -> Done[PolicyHead]:
    """Make a revision active. Activating the active one again leaves the previous one as it is."""
    head = _head_for_change(connection, tenant_id, policy_id, etag)
    if connection.execute(FIND_REVISION, (tenant_id, policy_id, digest)).fetchone() is None:
        raise NotFound("no such policy revision")
    if as_default is None:
        as_default = head.is_default or connection.execute(_FIND_DEFAULT, (tenant_id,)).fetchone() is None
    if as_default:
        connection.execute(_RETIRE_DEFAULT, (to_micros(now), tenant_id, policy_id))
    previous = head.previous if head.active == digest else head.active
    return _store(connection, head, digest, previous, as_default, now)


def roll_back_head(
    connection: Connection, tenant_id: str, policy_id: str, etag: str, now: datetime
) -> Done[PolicyHead]:
    """Exchange the active revision and the one before it."""
    head = _head_for_change(connection, tenant_id, policy_id, etag)
    if not head.previous:
        raise NotFound("no previous revision")
    return _store(connection, head, head.previous, head.active, head.is_default, now)


def _head_for_change(connection: Connection, tenant_id: str, policy_id: str, etag: str) -> PolicyHead:
    row = connection.execute(FIND_HEAD, (tenant_id, policy_id)).fetchone()
    if row is None:
        raise NotFound("no such policy")
    head = head_of(*row)
    if etag and etag != head.etag:
        raise EtagMismatch(head.etag)
    return head


def _store(
    connection: Connection,
    head: PolicyHead,
    active: str,
    previous: str,
    is_default: bool,
    now: datetime,
) -> Done[PolicyHead]:
    key = (head.tenant_id, head.policy_id)
    connection.execute(_ACTIVATE, (active, previous, int(is_default), to_micros(now), *key))
    (stored,) = connection.execute(FIND_HEAD, key).fetchall()
    return Done(head_of(*stored), advance_tenant(connection, head.tenant_id))
