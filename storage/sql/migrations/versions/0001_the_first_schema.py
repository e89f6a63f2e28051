"""The first schema.

A migration says what the schema was then; it never follows later changes of `storage.sql.schema`.
"""

from alembic import op

from storage.sql.migrations.first import append, ledger, memory, partitions, policies, protection, tenancy

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
    if _on_postgres():
        protection.create_extension()
    tenancy.create()
    memory.create()
    policies.create()
    ledger.create()
    if _on_postgres():
        _finish(op.get_context().opts["app_role"])


def _finish(role: str) -> None:
    partitions.create_parts()
    protection.create_role(role)
    protection.protect(role)
    partitions.create_function(role)
    append.create_function(role)


def downgrade() -> None:
    """Back to the one before. Indexes go with their tables; the role and the extension belong to others as well."""
    if _on_postgres():
        append.drop_function()
        partitions.drop_function()
    for table in _TABLES:
        op.drop_table(table)


def _on_postgres() -> bool:
    return op.get_context().dialect.name == "postgresql"
