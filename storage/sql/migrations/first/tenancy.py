"""Tenants, users and their keys."""

import sqlalchemy as sa
from alembic import op

from storage.sql.migrations.first.columns import ID, required


def create() -> None:
    """Create the tables."""
    _create_tenants()
    _create_master_keys()
    _create_tenant_keys()
    _create_user_keys()
    _create_users()


def _create_tenants() -> None:
    op.create_table(
        "tenants",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", name="pk_tenants"),
        sqlite_with_rowid=False,
    )


def _create_master_keys() -> None:
    op.create_table(
        "master_keys",
        sa.Column("master_key_id", ID, nullable=False),
        sa.Column("proof", sa.LargeBinary(), nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("master_key_id", name="pk_master_keys"),
        sqlite_with_rowid=False,
    )


def _create_tenant_keys() -> None:
    op.create_table(
        "tenant_keys",
        sa.Column("tenant_id", ID, nullable=False),
        sa.Column("key_no", sa.BigInteger(), nullable=False),
        sa.Column("master_key_id", ID, nullable=False),
        sa.Column("wrapped", sa.LargeBinary(), nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "key_no", name="pk_tenant_keys"),
        sa.ForeignKeyConstraint(
            ["master_key_id"], ["master_keys.master_key_id"], name="fk_tenant_keys_master_keys"
        ),
        sqlite_with_rowid=False,
    )


def _create_user_keys() -> None:
    op.create_table(
        "user_keys",
        *required(ID, "tenant_id", "user_id"),
        *required(sa.BigInteger(), "key_no", "tenant_key_no"),
        sa.Column("wrapped", sa.LargeBinary(), nullable=False),
        sa.Column("create_time", sa.BigInteger(), nullable=False),
        sa.Column("activate_time", sa.BigInteger(), nullable=True),
        sa.Column("retire_time", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "key_no", name="pk_user_keys"),
        sqlite_with_rowid=False,
    )


def _create_users() -> None:
    op.create_table(
        "users",
        *required(ID, "tenant_id", "user_id", "pseudonym"),
        *required(
            sa.BigInteger(), "fact_epoch", "archive_epoch", "fact_no", "excerpt_no", "archived_session_no"
        ),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", name="pk_users"),
        sqlite_with_rowid=False,
    )
