"""The first schema.

A migration says what the schema was then; it never follows later changes of `storage.sql.schema`.
"""

from alembic import op

from storage.sql.migrations.first import ledger, memory, policies, tenancy

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = (
    "archived_sessions",
    "chain_heads",
    "excerpt_vectors",
    "excerpts",
    "facts",
    "policy_heads",
    "policy_revisions",
    "postings",
    "prefix_revisions",
    "receipts",
    "tenant_keys",
    "master_keys",
    "tenants",
    "traces",
    "turns",
    "usage_reports",
    "user_keys",
    "users",
)


def upgrade() -> None:
    """To this revision."""
    tenancy.create()
    memory.create()
    policies.create()
    ledger.create()


def downgrade() -> None:
    """Back to the one before. Indexes go with their tables."""
    for table in _TABLES:
        op.drop_table(table)
