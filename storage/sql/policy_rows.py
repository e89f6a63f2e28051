"""Policies as rows, and the way back to records."""

from typing import Final

from storage.ports import PolicyHead, StoredPolicy
from storage.sql.columns import from_micros

REVISION_COLUMNS: Final = "tenant_id, policy_id, digest, document, author, create_time"
HEAD_COLUMNS: Final = "tenant_id, policy_id, active, previous, is_default, version, update_time"

FIND_REVISION: Final = f"""SELECT {REVISION_COLUMNS} FROM policy_revisions
    WHERE tenant_id = ? AND policy_id = ? AND digest = ?"""
FIND_HEAD: Final = f"SELECT {HEAD_COLUMNS} FROM policy_heads WHERE tenant_id = ? AND policy_id = ?"
_ACTIVE: Final = """SELECT r.tenant_id, r.policy_id, r.digest, r.document, r.author, r.create_time
    FROM policy_heads h JOIN policy_revisions r
    ON r.tenant_id = h.tenant_id AND r.policy_id = h.policy_id AND r.digest = h.active"""
FIND_ACTIVE: Final = f"{_ACTIVE} WHERE h.tenant_id = ? AND h.policy_id = ?"
FIND_DEFAULT: Final = f"{_ACTIVE} WHERE h.tenant_id = ? AND h.is_default = 1"


def revision_of(
    tenant_id: str, policy_id: str, digest: str, document: bytes, author: str, create_time: int
) -> StoredPolicy:
    """The revision in a row of `REVISION_COLUMNS`."""
    return StoredPolicy(tenant_id, policy_id, digest, document, author, from_micros(create_time))


def head_of(
    tenant_id: str,
    policy_id: str,
    active: str,
    previous: str,
    is_default: int,
    version: int,
    update_time: int,
) -> PolicyHead:
    """The head in a row of `HEAD_COLUMNS`; its etag is the version."""
    return PolicyHead(
        tenant_id, policy_id, active, previous, bool(is_default), str(version), from_micros(update_time)
    )
