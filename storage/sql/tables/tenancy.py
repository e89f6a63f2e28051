"""Tenants, users and their keys."""

import sqlalchemy as sa

from storage.sql.tables.base import BYTES, ID, NUMBER, TIME, metadata, owner, required, tenant

# The tenant's policies, prefixes and usage share one epoch, which grows with each change of them.
tenants = sa.Table(
    "tenants",
    metadata,
    tenant(),
    required("epoch", NUMBER),
    sa.PrimaryKeyConstraint("tenant_id"),
    sqlite_with_rowid=False,
)

# The master keys that tenant keys may be wrapped by; they belong to no tenant. `proof` is a random value wrapped by
# each: whether the key at hand is the right one is seen without looking at any tenant.
master_keys = sa.Table(
    "master_keys",
    metadata,
    required("master_key_id", ID),
    required("proof", BYTES),
    required("create_time", TIME),
    sa.PrimaryKeyConstraint("master_key_id"),
    sqlite_with_rowid=False,
)

# Keys lie here wrapped only: a tenant's by the master key, a user's by a key of the tenant.
tenant_keys = sa.Table(
    "tenant_keys",
    metadata,
    tenant(),
    required("key_no", NUMBER),
    required("master_key_id", ID),
    required("wrapped", BYTES),
    required("create_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "key_no"),
    # A master key stays known as long as something is wrapped by it, whatever other processes do meanwhile.
    sa.ForeignKeyConstraint(
        ["master_key_id"], ["master_keys.master_key_id"], name="fk_tenant_keys_master_keys"
    ),
    sqlite_with_rowid=False,
)

user_keys = sa.Table(
    "user_keys",
    metadata,
    *owner(),
    required("key_no", NUMBER),
    required("tenant_key_no", NUMBER),
    required("wrapped", BYTES),
    required("create_time", TIME),
    # Null while other processes learn of a new key; nothing is sealed with it before.
    sa.Column("activate_time", TIME),
    # Set once nothing lies under it any more.
    sa.Column("retire_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "key_no"),
    sqlite_with_rowid=False,
)

users = sa.Table(
    "users",
    metadata,
    *owner(),
    required("pseudonym", ID),
    # Counters of this user: how often its facts and archive changed, and the numbers given out last.
    required("fact_epoch", NUMBER),
    required("archive_epoch", NUMBER),
    required("fact_no", NUMBER),
    required("excerpt_no", NUMBER),
    required("archived_session_no", NUMBER),
    sa.PrimaryKeyConstraint("tenant_id", "user_id"),
    sqlite_with_rowid=False,
)
