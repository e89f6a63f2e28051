"""Policies and prefixes."""

import sqlalchemy as sa
from alembic import op

from storage.sql.migrations.first.columns import ID, partial_index, required


def create() -> None:
    """Create the tables."""
    _create_policy_heads()
    _create_policy_revisions()
    _create_prefix_revisions()


def _create_policy_heads() -> None:
    op.create_table(
        "policy_heads",
        *required(ID, "tenant_id", "policy_id", "active", "previous"),
        sa.Column("is_default", sa.SmallInteger(), nullable=False),
        *required(sa.BigInteger(), "version", "update_time"),
        sa.PrimaryKeyConstraint("tenant_id", "policy_id", name="pk_policy_heads"),
    )
    partial_index("ux_policy_heads_default", "policy_heads", ["tenant_id"], "is_default = 1", unique=True)


def _create_policy_revisions() -> None:
    op.create_table(
        "policy_revisions",
        *required(ID, "tenant_id", "policy_id", "digest"),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("author", ID, nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "policy_id", "digest", name="pk_policy_revisions"),
        sa.UniqueConstraint(
            "tenant_id", "policy_id", "no", name="uq_policy_revisions_tenant_id_policy_id_no"
        ),
    )


def _create_prefix_revisions() -> None:
    op.create_table(
        "prefix_revisions",
        *required(ID, "tenant_id", "prefix_id", "digest"),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "prefix_id", "digest", name="pk_prefix_revisions"),
        sa.UniqueConstraint(
            "tenant_id", "prefix_id", "no", name="uq_prefix_revisions_tenant_id_prefix_id_no"
        ),
    )
