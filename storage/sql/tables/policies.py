"""Policies and prefixes: immutable revisions, and which of them counts."""

import sqlalchemy as sa

from storage.sql.tables.base import BYTES, FLAG, ID, NUMBER, TIME, metadata, required, tenant

policy_revisions = sa.Table(
    "policy_revisions",
    metadata,
    tenant(),
    required("policy_id", ID),
    required("digest", ID),
    required("no", NUMBER),
    required("document", BYTES),
    required("author", ID),
    required("create_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "policy_id", "digest"),
    sa.UniqueConstraint("tenant_id", "policy_id", "no"),
)

policy_heads = sa.Table(
    "policy_heads",
    metadata,
    tenant(),
    required("policy_id", ID),
    required("active", ID),
    required("previous", ID),
    required("is_default", FLAG),
    required("version", NUMBER),
    required("update_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "policy_id"),
    sa.Index(
        "ux_policy_heads_default",
        "tenant_id",
        unique=True,
        sqlite_where=sa.text("is_default = 1"),
        postgresql_where=sa.text("is_default = 1"),
    ),
)

prefix_revisions = sa.Table(
    "prefix_revisions",
    metadata,
    tenant(),
    required("prefix_id", ID),
    required("digest", ID),
    required("no", NUMBER),
    required("document", BYTES),
    required("create_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "prefix_id", "digest"),
    sa.UniqueConstraint("tenant_id", "prefix_id", "no"),
)
