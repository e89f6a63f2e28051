"""The columns and indexes of the first revision."""

from typing import Final, TypeVar

import sqlalchemy as sa
from alembic import op

T = TypeVar("T")

ID: Final = sa.String(collation="BINARY").with_variant(sa.String(collation="C"), "postgresql")
BY_TENANT: Final = "HASH (tenant_id)"


def required(kind: sa.types.TypeEngine[T], *names: str) -> list[sa.Column[T]]:
    """Columns of one type, none of which may be null."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def partial_index(name: str, table: str, columns: list[str], where: str, unique: bool) -> None:
    """An index of the rows that meet a condition."""
    condition = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition)
