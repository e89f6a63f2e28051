"""On Postgres: the role of the gateways, what it may do, and row-level security as the second lock between tenants."""

from typing import Final

from alembic import op

SCHEMA: Final = "public"

_READ_AND_ADD: Final = "SELECT, INSERT"
_CHANGE: Final = "SELECT, INSERT, UPDATE"
_ALL: Final = "SELECT, INSERT, UPDATE, DELETE"

# What the stores do, and nothing else. The ledger and its revisions only grow: a gateway that was taken over cannot
# rewrite them.
GRANTS: Final = {
    "alembic_version": "SELECT",
    "archived_sessions": _READ_AND_ADD,
    "chain_heads": _CHANGE,
    "excerpt_vectors": _ALL,
    "excerpts": _READ_AND_ADD,
    "facts": _CHANGE,
    "master_keys": _READ_AND_ADD,
    "policy_heads": _CHANGE,
    "policy_revisions": _READ_AND_ADD,
    "postings": _ALL,
    "prefix_revisions": _READ_AND_ADD,
    "receipts": _ALL,
    "tenant_keys": _READ_AND_ADD,
    "tenants": _CHANGE,
    "traces": _READ_AND_ADD,
    "turns": _ALL,
    "usage_reports": _READ_AND_ADD,
    "user_keys": _READ_AND_ADD,
    "users": _CHANGE,
}
_OF_NO_TENANT: Final = ("alembic_version", "master_keys")
_FOR_THE_OWNER: Final = ("tenants", "tenant_keys")

# The setting is "" once a transaction that had set it is over. As a scalar subquery it is read when a statement runs
# and not when it is planned or when parts are chosen at its start, which is before the engine's look-ups have set it.
_BOUND: Final = "tenant_id = (SELECT nullif(current_setting('muniment.tenant', true), ''))"


def create_role(role: str) -> None:
    """The group that the gateways' login roles are members of. Roles belong to the whole cluster: it may be there."""
    op.execute(f"""DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = '{role}') THEN
        CREATE ROLE {role} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    -- Somebody who migrates another database of the cluster was faster.
    NULL;
END $$""")


def create_extension() -> None:
    """pgvector. Where this role may not create it, somebody who may has to have done so."""
    op.execute(f"CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA {SCHEMA}")


def protect(role: str) -> None:
    """Rights and row-level security of every table."""
    op.execute(f"REVOKE CREATE ON SCHEMA {SCHEMA} FROM PUBLIC")
    op.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO {role}")
    op.execute("""DO $$ BEGIN
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
END $$""")
    for table, rights in GRANTS.items():
        op.execute(f"GRANT {rights} ON {table} TO {role}")
        if table not in _OF_NO_TENANT:
            secure_rows(table)
    for table in _FOR_THE_OWNER:
        # Rotating the master key goes through all tenants. It is the owner's task, who sees wrapped keys by it.
        op.execute(f"CREATE POLICY owner ON {table} TO CURRENT_USER USING (true)")


def secure_rows(table: str) -> None:
    """No row of another tenant, whatever a statement says; none at all where no tenant is bound."""
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY tenant ON {table} USING ({_BOUND}) WITH CHECK ({_BOUND})")
