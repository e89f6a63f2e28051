"""The statements that create the schema, for adapters that do not speak through SQLAlchemy."""

from collections.abc import Iterator

from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from storage.sql.schema import metadata


def creation_statements() -> Iterator[str]:
    """Each table and then its indexes, in SQLite's dialect."""
    dialect = sqlite.dialect()
    for table in metadata.sorted_tables:
        yield str(CreateTable(table).compile(dialect=dialect))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            yield str(CreateIndex(index).compile(dialect=dialect))
