"""The first schema.

A migration says what the schema was then; it never follows later changes of `storage.sql.schema`.
"""

from typing import TypeVar

import sqlalchemy as sa
from alembic import op

T = TypeVar("T")

ID = sa.String(collation="BINARY").with_variant(sa.String(collation="C"), "postgresql")

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """To this revision."""
    _create_archived_sessions()
    _create_excerpts()
    _create_facts()
    _create_policy_heads()
    _create_policy_revisions()
    _create_postings()
    _create_prefix_revisions()
    _create_receipts()
    _create_traces()
    _create_turns()
    _create_usage_reports()
    _create_users()


def downgrade() -> None:
    """Back to the one before."""
    op.drop_table("users")
    _drop_usage_reports()
    _drop_turns()
    _drop_traces()
    _drop_receipts()
    op.drop_table("prefix_revisions")
    op.drop_table("postings")
    op.drop_table("policy_revisions")
    _drop_policy_heads()
    _drop_facts()
    op.drop_table("excerpts")
    op.drop_table("archived_sessions")


def _required(kind: sa.types.TypeEngine[T], *names: str) -> list[sa.Column[T]]:
    """Columns of one type, none of which may be null."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def _partial_index(name: str, table: str, columns: list[str], where: str, unique: bool) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def _create_archived_sessions() -> None:
    op.create_table(
        "archived_sessions",
        *_required(ID, "tenant_id", "user_id", "session_id"),
        *_required(sa.BigInteger(), "session_no", "session_time"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "session_id", name="pk_archived_sessions"),
        sa.UniqueConstraint(
            "tenant_id", "user_id", "session_no", name="uq_archived_sessions_tenant_id_user_id_session_no"
        ),
        sqlite_with_rowid=False,
    )


def _create_excerpts() -> None:
    op.create_table(
        "excerpts",
        *_required(ID, "tenant_id", "user_id"),
        *_required(sa.BigInteger(), "no", "session_no"),
        sa.Column("turn_id", ID, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        *_required(ID, "role", "speaker"),
        *_required(sa.BigInteger(), "occur_time", "write_time"),
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


def _create_facts() -> None:
    op.create_table(
        "facts",
        *_required(ID, "tenant_id", "user_id"),
        sa.Column("no", sa.BigInteger(), nullable=False),
        *_required(
            ID,
            "subject_kind",
            "subject_id",
            "fact_key",
            "value_type",
            "kind",
            "origin",
            "source",
            "source_turn",
            "writer",
        ),
        *_required(
            sa.BigInteger(), "confidence_permille", "read_time", "write_time", "expire_time", "revision"
        ),
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
    _create_fact_indexes()


def _create_fact_indexes() -> None:
    _partial_index(
        "ix_facts_retired",
        "facts",
        ["tenant_id", "user_id", "subject_kind", "subject_id", "fact_key", "read_time", "revision"],
        "state IN ('SUPERSEDED', 'INVALIDATED')",
        unique=False,
    )
    _partial_index(
        "ix_facts_shown",
        "facts",
        ["tenant_id", "user_id", "fact_key", "subject_kind", "subject_id", "no"],
        "shown = 1",
        unique=False,
    )
    op.create_index("ix_facts_state", "facts", ["tenant_id", "user_id", "state", "no"], unique=False)
    _partial_index(
        "ux_facts_current",
        "facts",
        ["tenant_id", "user_id", "subject_kind", "subject_id", "fact_key"],
        "state = 'CURRENT'",
        unique=True,
    )


def _drop_facts() -> None:
    op.drop_index("ux_facts_current", table_name="facts")
    op.drop_index("ix_facts_state", table_name="facts")
    op.drop_index("ix_facts_shown", table_name="facts")
    op.drop_index("ix_facts_retired", table_name="facts")
    op.drop_table("facts")


def _create_policy_heads() -> None:
    op.create_table(
        "policy_heads",
        *_required(ID, "tenant_id", "policy_id", "active", "previous"),
        sa.Column("is_default", sa.SmallInteger(), nullable=False),
        *_required(sa.BigInteger(), "version", "update_time"),
        sa.PrimaryKeyConstraint("tenant_id", "policy_id", name="pk_policy_heads"),
    )
    _partial_index("ux_policy_heads_default", "policy_heads", ["tenant_id"], "is_default = 1", unique=True)


def _drop_policy_heads() -> None:
    op.drop_index("ux_policy_heads_default", table_name="policy_heads")
    op.drop_table("policy_heads")


def _create_policy_revisions() -> None:
    op.create_table(
        "policy_revisions",
        *_required(ID, "tenant_id", "policy_id", "digest"),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("author", ID, nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "policy_id", "digest", name="pk_policy_revisions"),
        sa.UniqueConstraint(
            "tenant_id", "policy_id", "no", name="uq_policy_revisions_tenant_id_policy_id_no"
        ),
    )


def _create_postings() -> None:
    op.create_table(
        "postings",
        *_required(ID, "tenant_id", "user_id"),
        *_required(sa.BigInteger(), "excerpt_no", "index_format"),
        sa.Column("terms", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "excerpt_no", name="pk_postings"),
        sqlite_with_rowid=False,
    )


def _create_prefix_revisions() -> None:
    op.create_table(
        "prefix_revisions",
        *_required(ID, "tenant_id", "prefix_id", "digest"),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "prefix_id", "digest", name="pk_prefix_revisions"),
        sa.UniqueConstraint(
            "tenant_id", "prefix_id", "no", name="uq_prefix_revisions_tenant_id_prefix_id_no"
        ),
    )


def _create_receipts() -> None:
    op.create_table(
        "receipts",
        *_required(ID, "tenant_id", "method", "request_id", "user_id"),
        sa.Column("fact_numbers", sa.Text(), nullable=False),
        sa.Column("body_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("response", sa.LargeBinary(), nullable=True),
        sa.Column("expire_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "method", "request_id", name="pk_receipts"),
    )
    op.create_index("ix_receipts_expire_time", "receipts", ["expire_time"], unique=False)
    op.create_index("ix_receipts_user", "receipts", ["tenant_id", "user_id"], unique=False)


def _drop_receipts() -> None:
    op.drop_index("ix_receipts_user", table_name="receipts")
    op.drop_index("ix_receipts_expire_time", table_name="receipts")
    op.drop_table("receipts")


def _create_traces() -> None:
    op.create_table(
        "traces",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        *_required(ID, "trace_id", "user_id", "session_id", "turn_id", "policy"),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.Column("body_sha256", sa.LargeBinary(), nullable=True),
        *_required(sa.LargeBinary(), "previous_hash", "record_hash", "record"),
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


def _drop_traces() -> None:
    op.drop_index("ix_traces_turn", table_name="traces")
    op.drop_index("ix_traces_session", table_name="traces")
    op.drop_table("traces")


def _create_turns() -> None:
    op.create_table(
        "turns",
        *_required(ID, "tenant_id", "user_id", "session_id"),
        sa.Column("turn_no", sa.BigInteger(), nullable=False),
        *_required(ID, "turn_id", "role", "speaker"),
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
    _partial_index("ix_turns_expire_time", "turns", ["expire_time"], "expire_time IS NOT NULL", unique=False)


def _drop_turns() -> None:
    op.drop_index("ix_turns_expire_time", table_name="turns")
    op.drop_table("turns")


def _create_usage_reports() -> None:
    op.create_table(
        "usage_reports",
        *_required(ID, "tenant_id", "trace_id"),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.Column("calibration_key", ID, nullable=False),
        *_required(
            sa.BigInteger(),
            "estimated_raw",
            "input_tokens",
            "cached_input_tokens",
            "cache_write_tokens",
            "output_tokens",
            "report_time",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "trace_id", name="pk_usage_reports"),
    )
    op.create_index(
        "ux_usage_reports_key", "usage_reports", ["tenant_id", "calibration_key", "no"], unique=True
    )


def _drop_usage_reports() -> None:
    op.drop_index("ux_usage_reports_key", table_name="usage_reports")
    op.drop_table("usage_reports")


def _create_users() -> None:
    op.create_table(
        "users",
        *_required(ID, "tenant_id", "user_id", "pseudonym"),
        *_required(
            sa.BigInteger(), "fact_epoch", "archive_epoch", "fact_no", "excerpt_no", "archived_session_no"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="pk_users"),
        sqlite_with_rowid=False,
    )
