"""The schema of every SQL backend as SQLAlchemy Core metadata, in types that SQLite and Postgres both have.

Conventions: tenant_id, then user_id where there is one, lead every key. Ids compare byte by byte on every backend.
Times are microseconds since 1970 in UTC. Flags are 0 and 1. Content that is encrypted under its user's key lies in
columns called `content`, `terms` or `response`. SQLite does not import this while serving (SQLAlchemy costs a quarter
of a second): a database that is up to date needs only `storage.sql.revision.REVISION`.

On Postgres the tables that grow are partitioned, by hash of the tenant (`storage.sql.partitions` makes the parts). A
unique key of a partitioned table must hold the columns that choose the part.
"""

from storage.sql.tables.base import metadata
from storage.sql.tables.ledger import chain_heads, receipts, traces, usage_reports
from storage.sql.tables.memory import archived_sessions, excerpt_vectors, excerpts, facts, postings, turns
from storage.sql.tables.policies import policy_heads, policy_revisions, prefix_revisions
from storage.sql.tables.tenancy import master_keys, tenant_keys, tenants, user_keys, users

__all__ = [
    "archived_sessions", "chain_heads", "excerpt_vectors", "excerpts", "facts", "master_keys", "metadata",
    "policy_heads", "policy_revisions", "postings", "prefix_revisions", "receipts", "tenant_keys", "tenants",
    "traces", "turns", "usage_reports", "user_keys", "users",
]  # fmt: skip
