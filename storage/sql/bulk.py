"""Many rows in few statements: each step of the driver lets go of the interpreter lock, and pays to have it back."""

from collections.abc import Sequence
from typing import Final

from storage.sql.engine import Connection, Value

ROWS: Final = 64
"""Rows of one statement; with a dozen columns this stays below the 999 parameters of old SQLite builds."""


def insert_rows(
    connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]
) -> None:
    """Insert rows. Names of tables and columns come from our code, never from a caller."""
    into = f"INSERT INTO {table} ({', '.join(columns)}) VALUES "
    place = f"({', '.join('?' * len(columns))})"
    for start in range(0, len(rows), ROWS):
        some = rows[start : start + ROWS]
        connection.execute(into + ", ".join([place] * len(some)), [value for row in some for value in row])
