"""The audit ledger, receipts and usage."""

import sqlalchemy as sa
from alembic import op

from storage.sql.migrations.first.columns import BY_TENANT, ID, required


def create() -> None:
    """Create the tables."""
    _create_traces()
    _create_chain_heads()
    _create_receipts()
    _create_usage_reports()


def _create_traces() -> None:
    op.create_table(
        "traces",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        *required(ID, "trace_id", "user_id", "session_id", "turn_id", "policy"),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.Column("body_sha256", sa.LargeBinary(), nullable=True),
        *required(sa.LargeBinary(), "previous_hash", "record_hash", "record"),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        *_trace_keys(),
        postgresql_partition_by=BY_TENANT,
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


def _trace_keys() -> list[sa.Constraint]:
    if op.get_context().dialect.name == "postgresql":
        # A unique key of a partitioned table holds what chooses the part: here the time as well.
        return [
            sa.PrimaryKeyConstraint("tenant_id", "sequence", "create_time", name="pk_traces"),
            sa.UniqueConstraint(
                "tenant_id", "trace_id", "create_time", name="uq_traces_tenant_id_trace_id_create_time"
            ),
        ]
    return [
        sa.UniqueConstraint("tenant_id", "sequence", name="uq_traces_tenant_id_sequence"),
        sa.UniqueConstraint("tenant_id", "trace_id", name="uq_traces_tenant_id_trace_id"),
    ]


def _create_chain_heads() -> None:
    op.create_table(
        "chain_heads",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("record_hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", name="pk_chain_heads"),
        sqlite_with_rowid=False,
    )


def _create_receipts() -> None:
    op.create_table(
        "receipts",
        *required(ID, "tenant_id", "method", "request_id", "user_id"),
        sa.Column("fact_numbers", sa.Text(), nullable=False),
        sa.Column("body_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("response", sa.LargeBinary(), nullable=True),
        sa.Column("expire_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "method", "request_id", name="pk_receipts"),
    )
    op.create_index("ix_receipts_expire_time", "receipts", ["tenant_id", "expire_time"], unique=False)
    op.create_index("ix_receipts_user", "receipts", ["tenant_id", "user_id"], unique=False)


def _create_usage_reports() -> None:
    op.create_table(
        "usage_reports",
        *required(ID, "tenant_id", "trace_id"),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.Column("calibration_key", ID, nullable=False),
        *required(
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
