"""Facts, excerpts with their indexes, and turns."""

from typing import Any, Final

import sqlalchemy as sa
from alembic import op

from storage.sql.migrations.first.columns import BY_TENANT, ID, partial_index, required


class _Vector(sa.types.UserDefinedType[bytes]):
    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "VECTOR"


VECTOR: Final = sa.LargeBinary().with_variant(_Vector(), "postgresql")


def create() -> None:
    """Create the tables."""
    _create_facts()
    _create_archived_sessions()
    _create_excerpts()
    _create_postings()
    _create_excerpt_vectors()
    _create_turns()


def _create_facts() -> None:
    op.create_table(
        "facts",
        *required(ID, "tenant_id", "user_id"),
        sa.Column("no", sa.BigInteger(), nullable=False),
        *required(
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
        *required(
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
    partial_index(
        "ix_facts_retired",
        "facts",
        ["tenant_id", "user_id", "subject_kind", "subject_id", "fact_key", "read_time", "revision"],
        "state IN ('SUPERSEDED', 'INVALIDATED')",
        unique=False,
    )
    partial_index(
        "ix_facts_shown",
        "facts",
        ["tenant_id", "user_id", "fact_key", "subject_kind", "subject_id", "no"],
        "shown = 1",
        unique=False,
    )
    op.create_index("ix_facts_state", "facts", ["tenant_id", "user_id", "state", "no"], unique=False)
    partial_index(
        "ux_facts_current",
        "facts",
        ["tenant_id", "user_id", "subject_kind", "subject_id", "fact_key"],
        "state = 'CURRENT'",
        unique=True,
    )


def _create_archived_sessions() -> None:
    op.create_table(
        "archived_sessions",
        *required(ID, "tenant_id", "user_id", "session_id"),
        *required(sa.BigInteger(), "session_no", "session_time"),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "session_id", name="pk_archived_sessions"),
        sa.UniqueConstraint(
            "tenant_id", "user_id", "session_no", name="uq_archived_sessions_tenant_id_user_id_session_no"
        ),
        sqlite_with_rowid=False,
    )


def _create_excerpts() -> None:
    op.create_table(
        "excerpts",
        *required(ID, "tenant_id", "user_id"),
        *required(sa.BigInteger(), "no", "session_no"),
        sa.Column("turn_id", ID, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        *required(ID, "role", "speaker"),
        *required(sa.BigInteger(), "occur_time", "write_time"),
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
        postgresql_partition_by=BY_TENANT,
    )


def _create_postings() -> None:
    op.create_table(
        "postings",
        *required(ID, "tenant_id", "user_id"),
        *required(sa.BigInteger(), "excerpt_no", "index_format"),
        sa.Column("terms", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "excerpt_no", name="pk_postings"),
        sqlite_with_rowid=False,
        postgresql_partition_by=BY_TENANT,
    )


def _create_excerpt_vectors() -> None:
    op.create_table(
        "excerpt_vectors",
        *required(ID, "tenant_id", "user_id", "embedder"),
        sa.Column("excerpt_no", sa.BigInteger(), nullable=False),
        sa.Column("vector", VECTOR, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "user_id", "embedder", "excerpt_no", name="pk_excerpt_vectors"),
        sqlite_with_rowid=False,
        postgresql_partition_by=BY_TENANT,
    )


def _create_turns() -> None:
    op.create_table(
        "turns",
        *required(ID, "tenant_id", "user_id", "session_id"),
        sa.Column("turn_no", sa.BigInteger(), nullable=False),
        *required(ID, "turn_id", "role", "speaker"),
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
        postgresql_partition_by=BY_TENANT,
    )
    partial_index(
        "ix_turns_expire_time", "turns", ["tenant_id", "expire_time"], "expire_time IS NOT NULL", unique=False
    )
