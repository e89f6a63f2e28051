"""Many rows in few statements: on a server each is a round trip, and in SQLite each step of the driver lets go of the
interpreter lock and pays to have it back."""

from collections.abc import Iterator, Sequence
from typing import Final

from storage.sql.engine import Connection, Row, Value

ROWS: Final = 64
"""Rows of one INSERT; with a dozen columns this stays below the 999 parameters of old SQLite builds."""
VALUES: Final = 256
"""Values of one IN."""


def insert_rows(
    connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]
) -> None:
    """Insert rows. Names of tables and columns come from our code, never from a caller."""
    into = f"INSERT INTO {table} ({', '.join(columns)}) VALUES "
    place = f"({', '.join('?' * len(columns))})"
    for start in range(0, len(rows), ROWS):
        some = rows[start : start + ROWS]
        connection.execute(into + ", ".join([place] * len(some)), [value for row in some for value in row])


def rows_in(
    connection: Connection, statement: str, leading: Sequence[Value], values: Sequence[Value]
) -> Iterator[Row]:
    """The rows of a statement that ends with `IN ({values})`, for any number of values."""
    for some in in_lists(values):
        yield from connection.execute(statement.format(values=marks(some)), (*leading, *some)).fetchall()


def in_lists(values: Sequence[Value]) -> Iterator[tuple[Value, ...]]:
    """The values in lists for IN. Their lengths are powers of two, filled up with what is in them already, so that a
    server has to prepare a statement for each of a few lengths only."""
    for start in range(0, len(values), VALUES):
        some = tuple(values[start : start + VALUES])
        length = 1 << (len(some) - 1).bit_length()
        yield some + some[-1:] * (length - len(some))


def marks(values: Sequence[Value]) -> str:
    """As many placeholders as there are values."""
    return ", ".join("?" * len(values))
