"""The audit ledger, and what was answered and used."""

import sqlalchemy as sa

from storage.sql.tables.base import (
    BY_TENANT,
    BYTES,
    ID,
    NUMBER,
    TEXT,
    TIME,
    metadata,
    only_on,
    required,
    tenant,
)

# The chain covers `record` only. `content`, the plain ids of the user and `body_sha256`, by which a repeat is known for
# a day, lie beside it and can be erased. That is a keyed hash, as in `receipts`: from a plain one could be guessed.
traces = sa.Table(
    "traces",
    metadata,
    tenant(),
    required("sequence", NUMBER),
    required("trace_id", ID),
    required("user_id", ID),
    required("session_id", ID),
    required("turn_id", ID),
    required("policy", ID),
    required("create_time", TIME),
    sa.Column("body_sha256", BYTES),
    required("previous_hash", BYTES),
    required("record_hash", BYTES),
    required("record", BYTES),
    sa.Column("content", BYTES),
    # On Postgres the parts of `traces` are split by time as well, so its keys hold the time and cannot forbid a number
    # or an id that comes twice. There `muniment_append` does, under the lock of the tenant's head: for numbers always,
    # for ids (128 bits of chance) against those of a day before.
    only_on("sqlite", sa.UniqueConstraint("tenant_id", "sequence")),
    only_on("sqlite", sa.UniqueConstraint("tenant_id", "trace_id")),
    only_on("postgresql", sa.PrimaryKeyConstraint("tenant_id", "sequence", "create_time")),
    only_on("postgresql", sa.UniqueConstraint("tenant_id", "trace_id", "create_time")),
    sa.Index("ix_traces_session", "tenant_id", "user_id", "session_id", "sequence"),
    sa.Index("ix_traces_turn", "tenant_id", "user_id", "session_id", "turn_id", "create_time"),
    postgresql_partition_by=BY_TENANT,
)

# Where a tenant's chain ends.
chain_heads = sa.Table(
    "chain_heads",
    metadata,
    tenant(),
    required("sequence", NUMBER),
    required("record_hash", BYTES),
    sa.PrimaryKeyConstraint("tenant_id"),
    sqlite_with_rowid=False,
)

receipts = sa.Table(
    "receipts",
    metadata,
    tenant(),
    required("method", ID),
    required("request_id", ID),
    # "" where the write was not a user's. `fact_numbers` are the facts that the answer shows, as JSON.
    required("user_id", ID),
    required("fact_numbers", TEXT),
    required("body_sha256", BYTES),
    sa.Column("response", BYTES),
    required("expire_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "method", "request_id"),
    sa.Index("ix_receipts_user", "tenant_id", "user_id"),
    sa.Index("ix_receipts_expire_time", "tenant_id", "expire_time"),
)

usage_reports = sa.Table(
    "usage_reports",
    metadata,
    tenant(),
    required("trace_id", ID),
    required("no", NUMBER),
    required("calibration_key", ID),
    required("estimated_raw", NUMBER),
    required("input_tokens", NUMBER),
    required("cached_input_tokens", NUMBER),
    required("cache_write_tokens", NUMBER),
    required("output_tokens", NUMBER),
    required("report_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "trace_id"),
    sa.Index("ux_usage_reports_key", "tenant_id", "calibration_key", "no", unique=True),
)
