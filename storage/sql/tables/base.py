"""What the tables are made of: the types of columns, in forms that SQLite and Postgres both have, and the naming."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import sqlalchemy as sa

T = TypeVar("T")
Key = TypeVar("Key", bound=sa.Constraint)


class Vector(sa.types.UserDefinedType[bytes]):
    """The `vector` of pgvector, without a fixed dimension: vectors of several embedders share a table."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """Its name in a statement."""
        return "VECTOR"


# The default collation of a Postgres cluster may fold or reorder; "C" and BINARY compare bytes.
ID: Final = sa.String(collation="BINARY").with_variant(sa.String(collation="C"), "postgresql")
TEXT: Final = sa.Text()
TIME: Final = sa.BigInteger()
NUMBER: Final = sa.BigInteger()
FLAG: Final = sa.SmallInteger()
BYTES: Final = sa.LargeBinary()
# The bytes are little-endian float32 on either; the Postgres engine turns them into what pgvector sends.
VECTOR: Final = sa.LargeBinary().with_variant(Vector(), "postgresql")

BY_TENANT: Final = "HASH (tenant_id)"
"""How the tables that grow are partitioned on Postgres."""

metadata: Final = sa.MetaData(
    naming_convention={"pk": "pk_%(table_name)s", "uq": "uq_%(table_name)s_%(column_0_N_name)s"},
)


def required(name: str, kind: sa.types.TypeEngine[T]) -> sa.Column[T]:
    """A column that is never null."""
    return sa.Column(name, kind, nullable=False)


def tenant() -> sa.Column[str]:
    """What leads the key of a tenant's things."""
    return required("tenant_id", ID)


def owner() -> tuple[sa.Column[str], sa.Column[str]]:
    """What leads the key of a user's things."""
    return tenant(), required("user_id", ID)


def only_on(dialect: str, key: Key) -> Key:
    """A key that the tables of one dialect have; `belongs_to` tells Alembic so, which does not know of such keys."""
    key.info["dialect"] = dialect
    key.ddl_if(dialect=dialect)
    return key


def belongs_to(dialect: str) -> Callable[..., bool]:
    """Alembic's `include_object` for a database of this dialect."""

    def included(item: sa.schema.SchemaItem, *_: object) -> bool:
        return bool(item.info.get("dialect", dialect) == dialect)

    return included
