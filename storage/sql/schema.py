"""The schema of every SQL backend as SQLAlchemy Core metadata, in types that SQLite and Postgres both have.

Conventions: tenant_id, then user_id where there is one, lead every key. Ids compare byte by byte on every backend.
Times are microseconds since 1970 in UTC. Flags are 0 and 1. Content that will be encrypted under its user's key lies in
columns called `content` or `response`. Nothing here is imported while serving (SQLAlchemy costs a quarter of a second):
a database that is up to date needs only `storage.sql.revision.REVISION`.
"""

from typing import TypeVar

import sqlalchemy as sa

T = TypeVar("T")

# The default collation of a Postgres cluster may fold or reorder; "C" and BINARY compare bytes.
ID = sa.String(collation="BINARY").with_variant(sa.String(collation="C"), "postgresql")
TEXT = sa.Text()
TIME = sa.BigInteger()
NUMBER = sa.BigInteger()
FLAG = sa.SmallInteger()
BYTES = sa.LargeBinary()

metadata = sa.MetaData(
    naming_convention={"pk": "pk_%(table_name)s", "uq": "uq_%(table_name)s_%(column_0_N_name)s"},
)


def _column(name: str, kind: sa.types.TypeEngine[T]) -> sa.Column[T]:
    return sa.Column(name, kind, nullable=False)


def _tenant() -> sa.Column[str]:
    return _column("tenant_id", ID)


def _owner() -> tuple[sa.Column[str], sa.Column[str]]:
    return _tenant(), _column("user_id", ID)


users = sa.Table(
    "users",
    metadata,
    *_owner(),
    _column("pseudonym", ID),
    # Counters of this user: how often its facts and archive changed, and the numbers given out last.
    _column("fact_epoch", NUMBER),
    _column("archive_epoch", NUMBER),
    _column("fact_no", NUMBER),
    _column("excerpt_no", NUMBER),
    _column("archived_session_no", NUMBER),
    sa.PrimaryKeyConstraint("tenant_id", "user_id"),
    sqlite_with_rowid=False,
)

facts = sa.Table(
    "facts",
    metadata,
    *_owner(),
    _column("no", NUMBER),
    _column("subject_kind", ID),
    _column("subject_id", ID),
    _column("fact_key", ID),
    _column("value_type", ID),
    _column("kind", ID),
    _column("origin", ID),
    _column("source", ID),
    _column("source_turn", ID),
    _column("writer", ID),
    _column("confidence_permille", NUMBER),
    _column("read_time", TIME),
    _column("write_time", TIME),
    _column("expire_time", TIME),
    _column("revision", NUMBER),
    _column("state", ID),
    _column("superseded_by", NUMBER),
    sa.Column("invalidated_time", TIME),
    sa.Column("delete_time", TIME),
    _column("invalidation_reason", TEXT),
    _column("commitment", BYTES),
    # 1 for what a snapshot shows: the current fact of a (subject, key), and the latest of the retired ones. Kept up by
    # each write, so that loading a user's facts costs nothing for revisions that nobody looks at.
    _column("shown", FLAG),
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
    *_owner(),
    _column("session_id", ID),
    _column("session_no", NUMBER),
    _column("session_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "session_id"),
    sa.UniqueConstraint("tenant_id", "user_id", "session_no"),
    sqlite_with_rowid=False,
)

excerpts = sa.Table(
    "excerpts",
    metadata,
    *_owner(),
    _column("no", NUMBER),
    _column("session_no", NUMBER),
    _column("turn_id", ID),
    _column("position", NUMBER),
    _column("role", ID),
    _column("speaker", ID),
    _column("occur_time", TIME),
    _column("write_time", TIME),
    _column("commitment", BYTES),
    sa.Column("salt", BYTES),
    sa.Column("content", BYTES),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "no"),
    sa.UniqueConstraint("tenant_id", "user_id", "session_no", "turn_id", "position"),
)

# Index terms are derived data apart from the immutable excerpts: another index format replaces rows here only.
# One row holds an excerpt's terms with frequencies, since ranking loads a user's whole archive as arrays anyway.
postings = sa.Table(
    "postings",
    metadata,
    *_owner(),
    _column("excerpt_no", NUMBER),
    _column("index_format", NUMBER),
    _column("terms", BYTES),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "excerpt_no"),
    sqlite_with_rowid=False,
)

turns = sa.Table(
    "turns",
    metadata,
    *_owner(),
    _column("session_id", ID),
    _column("turn_no", NUMBER),
    _column("turn_id", ID),
    _column("role", ID),
    _column("speaker", ID),
    _column("occur_time", TIME),
    sa.Column("expire_time", TIME),
    _column("content", BYTES),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "session_id", "turn_no"),
    sa.UniqueConstraint("tenant_id", "user_id", "session_id", "turn_id"),
    # Turns that stay until their session ends are not in it: a commit writes each index that it touches as a page.
    sa.Index(
        "ix_turns_expire_time",
        "expire_time",
        sqlite_where=sa.text("expire_time IS NOT NULL"),
        postgresql_where=sa.text("expire_time IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)

policy_revisions = sa.Table(
    "policy_revisions",
    metadata,
    _tenant(),
    _column("policy_id", ID),
    _column("digest", ID),
    _column("no", NUMBER),
    _column("document", BYTES),
    _column("author", ID),
    _column("create_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "policy_id", "digest"),
    sa.UniqueConstraint("tenant_id", "policy_id", "no"),
)

policy_heads = sa.Table(
    "policy_heads",
    metadata,
    _tenant(),
    _column("policy_id", ID),
    _column("active", ID),
    _column("previous", ID),
    _column("is_default", FLAG),
    _column("version", NUMBER),
    _column("update_time", TIME),
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
    _tenant(),
    _column("prefix_id", ID),
    _column("digest", ID),
    _column("no", NUMBER),
    _column("document", BYTES),
    _column("create_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "prefix_id", "digest"),
    sa.UniqueConstraint("tenant_id", "prefix_id", "no"),
)

# The chain covers `record` only. `content`, the plain ids of the user and the hash of the request, by which a repeat is
# known for a day, lie beside it and can be erased.
traces = sa.Table(
    "traces",
    metadata,
    _tenant(),
    _column("sequence", NUMBER),
    _column("trace_id", ID),
    _column("user_id", ID),
    _column("session_id", ID),
    _column("turn_id", ID),
    _column("policy", ID),
    _column("create_time", TIME),
    sa.Column("body_sha256", BYTES),
    _column("previous_hash", BYTES),
    _column("record_hash", BYTES),
    _column("record", BYTES),
    sa.Column("content", BYTES),
    sa.PrimaryKeyConstraint("tenant_id", "sequence"),
    sa.UniqueConstraint("tenant_id", "trace_id"),
    sa.Index("ix_traces_session", "tenant_id", "user_id", "session_id", "sequence"),
    sa.Index("ix_traces_turn", "tenant_id", "user_id", "session_id", "turn_id", "create_time"),
)

receipts = sa.Table(
    "receipts",
    metadata,
    _tenant(),
    _column("method", ID),
    _column("request_id", ID),
    # "" where the write was not a user's. `fact_numbers` are the facts that the answer shows, as JSON.
    _column("user_id", ID),
    _column("fact_numbers", TEXT),
    _column("body_sha256", BYTES),
    sa.Column("response", BYTES),
    _column("expire_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "method", "request_id"),
    sa.Index("ix_receipts_user", "tenant_id", "user_id"),
    sa.Index("ix_receipts_expire_time", "expire_time"),
)

usage_reports = sa.Table(
    "usage_reports",
    metadata,
    _tenant(),
    _column("trace_id", ID),
    _column("no", NUMBER),
    _column("calibration_key", ID),
    _column("estimated_raw", NUMBER),
    _column("input_tokens", NUMBER),
    _column("cached_input_tokens", NUMBER),
    _column("cache_write_tokens", NUMBER),
    _column("output_tokens", NUMBER),
    _column("report_time", TIME),
    sa.PrimaryKeyConstraint("tenant_id", "trace_id"),
    sa.Index("ux_usage_reports_key", "tenant_id", "calibration_key", "no", unique=True),
)
