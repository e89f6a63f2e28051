"""What is known of users: facts, excerpts of past sessions with their indexes, and turns."""

import sqlalchemy as sa

from storage.sql.tables.base import (
    BY_TENANT,
    BYTES,
    FLAG,
    ID,
    NUMBER,
    TEXT,
    TIME,
    VECTOR,
    metadata,
    owner,
    required,
)

facts = sa.Table(
    "facts",
    metadata,
    *owner(),
    required("no", NUMBER),
    required("subject_kind", ID),
    required("subject_id", ID),
    required("fact_key", ID),
    required("value_type", ID),
    required("kind", ID),
    required("origin", ID),
    required("source", ID),
    required("source_turn", ID),
    required("writer", ID),
    required("confidence_permille", NUMBER),
    required("read_time", TIME),
    required("write_time", TIME),
    required("expire_time", TIME),
    required("revision", NUMBER),
    required("state", ID),
    required("superseded_by", NUMBER),
    sa.Column("invalidated_time", TIME),
    sa.Column("delete_time", TIME),
    required("invalidation_reason", TEXT),
    required("commitment", BYTES),
    # 1 for what a snapshot shows: the current fact of a (subject, key), and the latest of the retired ones. Kept up by
    # each write, so that loading a user's facts costs nothing for revisions that nobody looks at.
    required("shown", FLAG),
    # Both are null once the fact is deleted: with the salt goes the way to guess the content.
    sa.Column("salt", BYTES),
    sa.Column("content", BYTES),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "no"),
    sa.Index(
        "ux_facts_current",
        "tenant_id",
        "user_id",
        "subject_kind",
        "subject_id",
        "fact_key",
        unique=True,
        sqlite_where=sa.text("state = 'CURRENT'"),
        postgresql_where=sa.text("state = 'CURRENT'"),
    ),
    sa.Index(
        # In the order of a snapshot, which is then read without sorting.
        "ix_facts_shown",
        "tenant_id",
        "user_id",
        "fact_key",
        "subject_kind",
        "subject_id",
        "no",
        sqlite_where=sa.text("shown = 1"),
        postgresql_where=sa.text("shown = 1"),
    ),
    sa.Index(
        "ix_facts_retired",
        "tenant_id",
        "user_id",
        "subject_kind",
        "subject_id",
        "fact_key",
        "read_time",
        "revision",
        sqlite_where=sa.text("state IN ('SUPERSEDED', 'INVALIDATED')"),
        postgresql_where=sa.text("state IN ('SUPERSEDED', 'INVALIDATED')"),
    ),
    sa.Index("ix_facts_state", "tenant_id", "user_id", "state", "no"),
)

archived_sessions = sa.Table(
    "archived_sessions",
    metadata,
    *owner(),
    required("session_id", ID),
    required("session_no", NUMBER),
    required("session_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "session_id"),
    sa.UniqueConstraint("tenant_id", "user_id", "session_no"),
    sqlite_with_rowid=False,
)

excerpts = sa.Table(
    "excerpts",
    metadata,
    *owner(),
    required("no", NUMBER),
    required("session_no", NUMBER),
    required("turn_id", ID),
    required("position", NUMBER),
    required("role", ID),
    required("speaker", ID),
    required("occur_time", TIME),
    required("write_time", TIME),
    required("commitment", BYTES),
    sa.Column("salt", BYTES),
    sa.Column("content", BYTES),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "no"),
    sa.UniqueConstraint("tenant_id", "user_id", "session_no", "turn_id", "position"),
    postgresql_partition_by=BY_TENANT,
)

# Index terms are derived data apart from the immutable excerpts: another index format replaces rows here only.
# One row holds an excerpt's terms with frequencies, since ranking loads a user's whole archive as arrays anyway.
postings = sa.Table(
    "postings",
    metadata,
    *owner(),
    required("excerpt_no", NUMBER),
    required("index_format", NUMBER),
    required("terms", BYTES),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "excerpt_no"),
    sqlite_with_rowid=False,
    postgresql_partition_by=BY_TENANT,
)

# Led by the embedder: the vectors of one are loaded together, and never meet those of another.
excerpt_vectors = sa.Table(
    "excerpt_vectors",
    metadata,
    *owner(),
    required("embedder", ID),
    required("excerpt_no", NUMBER),
    required("vector", VECTOR),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "embedder", "excerpt_no"),
    sqlite_with_rowid=False,
    postgresql_partition_by=BY_TENANT,
)

turns = sa.Table(
    "turns",
    metadata,
    *owner(),
    required("session_id", ID),
    required("turn_no", NUMBER),
    required("turn_id", ID),
    required("role", ID),
    required("speaker", ID),
    required("occur_time", TIME),
    sa.Column("expire_time", TIME),
    required("content", BYTES),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "session_id", "turn_no"),
    sa.UniqueConstraint("tenant_id", "user_id", "session_id", "turn_id"),
    # Turns that stay until their session ends are not in it: a commit writes each index that it touches as a page.
    sa.Index(
        "ix_turns_expire_time",
        "tenant_id",
        "expire_time",
        sqlite_where=sa.text("expire_time IS NOT NULL"),
        postgresql_where=sa.text("expire_time IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
    postgresql_partition_by=BY_TENANT,
)
