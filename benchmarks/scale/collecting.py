"""A transaction that collects the rows it is told to insert, for users of whom nothing is stored yet.

The product's own functions write to it, so what is loaded in bulk is what the product itself would have written: the
same columns, numbers, commitments and ciphertexts.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from storage.sql.engine import Cursor, Row, Value

Columns: TypeAlias = tuple[str, ...]

_INSERT: Final = re.compile(r"\s*INSERT\s+INTO\s+(\w+)\s*\(([^)]*)\)\s*VALUES", re.IGNORECASE)
_SELECT: Final = re.compile(r"\s*SELECT\s+(.*?)\s+FROM\s+(\w+)", re.IGNORECASE | re.DOTALL)
_USERS: Final = "users"
_OWNER: Final = 2
"""The first columns of a user's row name the user."""


class NotBulk(RuntimeError):
    """A statement that makes no sense for somebody who is new."""


@dataclass(frozen=True, slots=True)
class _Found:
    rows: list[Row]

    @property
    def rowcount(self) -> int:
        return len(self.rows)

    def fetchone(self) -> Row | None:
        return self.rows[0] if self.rows else None

    def fetchall(self) -> list[Row]:
        return self.rows


class Collector:
    """The port `storage.sql.engine.Connection`. `rows` has those of each table, in the order of `columns`."""

    def __init__(self) -> None:
        self.columns: dict[str, Columns] = {}
        self.rows: dict[str, list[Row]] = defaultdict(list)
        self._users: dict[Row, dict[str, Value]] = {}

    def execute(self, statement: str, parameters: Sequence[Value] = ()) -> Cursor:
        """Collect what is inserted; find what was inserted of a user's counters, and nothing else."""
        table, columns = _inserted(statement)
        if table == _USERS:
            return self._put_user(columns, parameters)
        if table:
            return self._put(table, columns, parameters)
        return _Found(self._found(statement, parameters))

    def take(self) -> dict[str, tuple[Columns, list[Row]]]:
        """All that was collected since the last time, by table."""
        for user in self._users.values():
            self.columns[_USERS] = tuple(user)
            self.rows[_USERS].append(tuple(user.values()))
        taken = {table: (self.columns[table], rows) for table, rows in self.rows.items() if rows}
        self.rows = defaultdict(list)
        self._users = {}
        return taken

    def add(self, table: str, columns: Columns, row: Row) -> None:
        """A row that no statement brings."""
        self.columns[table] = columns
        self.rows[table].append(row)

    def _put(self, table: str, columns: Columns, parameters: Sequence[Value]) -> Cursor:
        width = len(columns)
        if len(parameters) % width:
            raise NotBulk(f"an insert into {table} has other values than its parameters")
        self.columns[table] = columns
        rows = [tuple(parameters[at : at + width]) for at in range(0, len(parameters), width)]
        self.rows[table].extend(rows)
        return _Found(rows)

    def _put_user(self, columns: Columns, parameters: Sequence[Value]) -> Cursor:
        """The counters are written after each change; the pseudonym stays the first one."""
        new = dict(zip(columns, parameters, strict=True))
        before = self._users.setdefault(tuple(parameters[:_OWNER]), new)
        before.update({name: value for name, value in new.items() if name != "pseudonym"})
        return _Found([()])

    def _found(self, statement: str, parameters: Sequence[Value]) -> list[Row]:
        wanted, table = _selected(statement)
        if wanted == ("count(*)",):
            return [(0,)]
        user = self._users.get(tuple(parameters[:_OWNER])) if table == _USERS else None
        return [] if user is None else [tuple(user[column] for column in wanted)]


@lru_cache(maxsize=256)
def _inserted(statement: str) -> tuple[str, Columns]:
    """The table and columns of an INSERT; "" for another statement."""
    found = _INSERT.match(statement)
    return (found[1], _names(found[2])) if found else ("", ())


@lru_cache(maxsize=256)
def _selected(statement: str) -> tuple[Columns, str]:
    found = _SELECT.match(statement)
    if found is None:
        raise NotBulk(f"only a new user's rows can be collected: {statement.split(None, 1)[0]} is for others")
    return _names(found[1]), found[2]


def _names(text: str) -> Columns:
    return tuple(name.strip() for name in text.split(","))
