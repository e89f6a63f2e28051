"""The first schema.

A migration says what the schema was then; it never follows later changes of `storage.sql.schema`.
"""

import sqlalchemy as sa
from alembic import op

ID = sa.String(collation="BINARY").with_variant(sa.String(collation="C"), "postgresql")

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """To this revision."""
    op.create_table(
        "archived_sessions",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("session_id", ID, nullable=False),
        sa.Column("session_no", sa.BigInteger(), nullable=False),
        sa.Column("session_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "session_id", name="pk_archived_sessions"),
        sa.UniqueConstraint(
            "tenant_id", "user_id", "session_no", name="uq_archived_sessions_tenant_id_user_id_session_no"
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "excerpts",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.Column("session_no", sa.BigInteger(), nullable=False),
        sa.Column("turn_id", ID, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("role", ID, nullable=False),
        sa.Column("speaker", ID, nullable=False),
        sa.Column("occur_time", sa.BigInteger(), nullable=False),
        sa.Column("write_time", sa.BigInteger(), nullable=False),
        sa.Column("commitment", sa.LargeBinary(), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=True),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "no", name="pk_excerpts"),
        sa.UniqueConstraint(
            "tenant_id",
            "user_id",
            "session_no",
            "turn_id",
            "position",
            name="uq_excerpts_tenant_id_user_id_session_no_turn_id_position",
        ),
    )
    op.create_table(
        "facts",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.Column("subject_kind", ID, nullable=False),
        sa.Column("subject_id", ID, nullable=False),
        sa.Column("fact_key", ID, nullable=False),
        sa.Column("value_type", ID, nullable=False),
        sa.Column("kind", ID, nullable=False),
        sa.Column("origin", ID, nullable=False),
        sa.Column("source", ID, nullable=False),
        sa.Column("source_turn", ID, nullable=False),
        sa.Column("writer", ID, nullable=False),
        sa.Column("confidence_permille", sa.BigInteger(), nullable=False),
        sa.Column("read_time", sa.BigInteger(), nullable=False),
        sa.Column("write_time", sa.BigInteger(), nullable=False),
        sa.Column("expire_time", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("state", ID, nullable=False),
        sa.Column("superseded_by", sa.BigInteger(), nullable=False),
        sa.Column("invalidated_time", sa.BigInteger(), nullable=True),
        sa.Column("delete_time", sa.BigInteger(), nullable=True),
        sa.Column("invalidation_reason", sa.Text(), nullable=False),
        sa.Column("commitment", sa.LargeBinary(), nullable=False),
        sa.Column("shown", sa.SmallInteger(), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=True),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "no", name="pk_facts"),
    )
    op.create_index(
        "ix_facts_retired",
        "facts",
        ["tenant_id", "user_id", "subject_kind", "subject_id", "fact_key", "read_time", "revision"],
        unique=False,
        sqlite_where=sa.text("state IN ('SUPERSEDED', 'INVALIDATED')"),
        postgresql_where=sa.text("state IN ('SUPERSEDED', 'INVALIDATED')"),
    )
    op.create_index(
        "ix_facts_shown",
        "facts",
        ["tenant_id", "user_id", "fact_key", "subject_kind", "subject_id", "no"],
        unique=False,
        sqlite_where=sa.text("shown = 1"),
        postgresql_where=sa.text("shown = 1"),
    )
    op.create_index("ix_facts_state", "facts", ["tenant_id", "user_id", "state", "no"], unique=False)
    op.create_index(
        "ux_facts_current",
        "facts",
        ["tenant_id", "user_id", "subject_kind", "subject_id", "fact_key"],
        unique=True,
        sqlite_where=sa.text("state = 'CURRENT'"),
        postgresql_where=sa.text("state = 'CURRENT'"),
    )
    op.create_table(
        "policy_heads",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("policy_id", ID, nullable=False),
        sa.Column("active", ID, nullable=False),
        sa.Column("previous", ID, nullable=False),
        sa.Column("is_default", sa.SmallInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("update_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "policy_id", name="pk_policy_heads"),
    )
    op.create_index(
        "ux_policy_heads_default",
        "policy_heads",
        ["tenant_id"],
        unique=True,
        sqlite_where=sa.text("is_default = 1"),
        postgresql_where=sa.text("is_default = 1"),
    )
    op.create_table(
        "policy_revisions",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("policy_id", ID, nullable=False),
        sa.Column("digest", ID, nullable=False),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("author", ID, nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "policy_id", "digest", name="pk_policy_revisions"),
        sa.UniqueConstraint(
            "tenant_id", "policy_id", "no", name="uq_policy_revisions_tenant_id_policy_id_no"
        ),
    )
    op.create_table(
        "postings",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("excerpt_no", sa.BigInteger(), nullable=False),
        sa.Column("index_format", sa.BigInteger(), nullable=False),
        sa.Column("terms", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "excerpt_no", name="pk_postings"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "prefix_revisions",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("prefix_id", ID, nullable=False),
        sa.Column("digest", ID, nullable=False),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "prefix_id", "digest", name="pk_prefix_revisions"),
        sa.UniqueConstraint(
            "tenant_id", "prefix_id", "no", name="uq_prefix_revisions_tenant_id_prefix_id_no"
        ),
    )
    op.create_table(
        "receipts",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("method", ID, nullable=False),
        sa.Column("request_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("fact_numbers", sa.Text(), nullable=False),
        sa.Column("body_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("response", sa.LargeBinary(), nullable=True),
        sa.Column("expire_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "method", "request_id", name="pk_receipts"),
    )
    op.create_index("ix_receipts_expire_time", "receipts", ["expire_time"], unique=False)
    op.create_index("ix_receipts_user", "receipts", ["tenant_id", "user_id"], unique=False)
    op.create_table(
        "traces",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("trace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("session_id", ID, nullable=False),
        sa.Column("turn_id", ID, nullable=False),
        sa.Column("policy", ID, nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.Column("body_sha256", sa.LargeBinary(), nullable=True),
        sa.Column("previous_hash", sa.LargeBinary(), nullable=False),
        sa.Column("record_hash", sa.LargeBinary(), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "sequence", name="pk_traces"),
        sa.UniqueConstraint("tenant_id", "trace_id", name="uq_traces_tenant_id_trace_id"),
    )
    op.create_index(
        "ix_traces_session", "traces", ["tenant_id", "user_id", "session_id", "sequence"], unique=False
    )
    op.create_index(
        "ix_traces_turn",
        "traces",
        ["tenant_id", "user_id", "session_id", "turn_id", "create_time"],
        unique=False,
    )
    op.create_table(
        "turns",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("session_id", ID, nullable=False),
        sa.Column("turn_no", sa.BigInteger(), nullable=False),
        sa.Column("turn_id", ID, nullable=False),
        sa.Column("role", ID, nullable=False),
        sa.Column("speaker", ID, nullable=False),
        sa.Column("occur_time", sa.BigInteger(), nullable=False),
        sa.Column("expire_time", sa.BigInteger(), nullable=True),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "session_id", "turn_no", name="pk_turns"),
        sa.UniqueConstraint(
            "tenant_id",
            "user_id",
            "session_id",
            "turn_id",
            name="uq_turns_tenant_id_user_id_session_id_turn_id",
        ),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_turns_expire_time",
        "turns",
        ["expire_time"],
        unique=False,
        sqlite_where=sa.text("expire_time IS NOT NULL"),
        postgresql_where=sa.text("expire_time IS NOT NULL"),
    )
    op.create_table(
        "usage_reports",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("trace_id", ID, nullable=False),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.Column("calibration_key", ID, nullable=False),
        sa.Column("estimated_raw", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cached_input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_write_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("report_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "trace_id", name="pk_usage_reports"),
    )
    op.create_index(
        "ux_usage_reports_key", "usage_reports", ["tenant_id", "calibration_key", "no"], unique=True
    )
    op.create_table(
        "users",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("pseudonym", ID, nullable=False),
        sa.Column("fact_epoch", sa.BigInteger(), nullable=False),
        sa.Column("archive_epoch", sa.BigInteger(), nullable=False),
        sa.Column("fact_no", sa.BigInteger(), nullable=False),
        sa.Column("excerpt_no", sa.BigInteger(), nullable=False),
        sa.Column("archived_session_no", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="pk_users"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Back to the one before."""
    op.drop_table("users")
    op.drop_index("ux_usage_reports_key", table_name="usage_reports")
    op.drop_table("usage_reports")
    op.drop_index(
        "ix_turns_expire_time",
        table_name="turns",
        sqlite_where=sa.text("expire_time IS NOT NULL"),
        postgresql_where=sa.text("expire_time IS NOT NULL"),
    )
    op.drop_table("turns")
    op.drop_index("ix_traces_turn", table_name="traces")
    op.drop_index("ix_traces_session", table_name="traces")
    op.drop_table("traces")
    op.drop_index("ix_receipts_user", table_name="receipts")
    op.drop_index("ix_receipts_expire_time", table_name="receipts")
    op.drop_table("receipts")
    op.drop_table("prefix_revisions")
    op.drop_table("postings")
    op.drop_table("policy_revisions")
    op.drop_index(
        "ux_policy_heads_default",
        table_name="policy_heads",
        sqlite_where=sa.text("is_default = 1"),
        postgresql_where=sa.text("is_default = 1"),
    )
    op.drop_table("policy_heads")
    op.drop_index(
        "ux_facts_current",
        table_name="facts",
        sqlite_where=sa.text("state = 'CURRENT'"),
        postgresql_where=sa.text("state = 'CURRENT'"),
    )
    op.drop_index("ix_facts_state", table_name="facts")
    op.drop_index(
        "ix_facts_shown",
        table_name="facts",
        sqlite_where=sa.text("shown = 1"),
        postgresql_where=sa.text("shown = 1"),
    )
    op.drop_index(
        "ix_facts_retired",
        table_name="facts",
        sqlite_where=sa.text("state IN ('SUPERSEDED', 'INVALIDATED')"),
        postgresql_where=sa.text("state IN ('SUPERSEDED', 'INVALIDATED')"),
    )
    op.drop_table("facts")
    op.drop_table("excerpts")
    op.drop_table("archived_sessions")
