"""Alembic's scripts: how they run, and one per revision of the schema."""
