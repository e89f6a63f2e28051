"""Seal a user's rows anew under the newest version of its key, in bounded steps, beside whoever reads and writes.

A row is replaced only where it still is what was read, so a write that came in between wins.
"""

from dataclasses import dataclass
from typing import Any, Final

from assemblers.records import UserRef
from storage.encryption.data_key import DataKey, key_header
from storage.encryption.places import row_place
from storage.encryption.sealed_columns import SEALED_TABLES, SealedTable
from storage.sql.engine import Connection, Database, Value, user_scope

_BATCH: Final = 128
"""Rows of one transaction."""
_HEADER_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class _Change:
    """One sealed value, as it was and as it shall be; `row` are the values of the table's `order`."""

    column: str
    row: tuple[Value, ...]
    old: bytes
    new: bytes


async def reseal_rows(database: Database, user: UserRef, key: DataKey) -> int:
    """Seal under `key.key_no` what lies under other versions; gives how many values.

    Raises `StorageDamaged` for a value that does not open.
    """
    done = 0
    for table in SEALED_TABLES:
        done += await _reseal_table(database, user, key, table)
    return done


async def count_under(database: Database, user: UserRef, key_no: int) -> int:
    """How many values of the user's lie under a version of its key."""
    count = 0
    for table in SEALED_TABLES:
        for column, _ in table.columns:
            statement = f"""SELECT count(*) FROM {table.name}
                WHERE tenant_id = ? AND user_id = ? AND substr({column}, 1, {_HEADER_BYTES}) = ?"""
            parameters = (user.tenant_id, user.user_id, key_header(key_no))
            row = await database.row(user.tenant_id, statement, parameters)
            count += row[0] if row else 0
    return count


async def _reseal_table(database: Database, user: UserRef, key: DataKey, table: SealedTable) -> int:
    done = 0
    after: tuple[Value, ...] = ()
    while rows := await database.rows(user.tenant_id, *_select(table, user, after)):
        changes = [change for row in rows for change in _changes(table, user, key, row)]
        if changes:
            await _apply(database, table, user, changes)
        done += len(changes)
        after = tuple(rows[-1][: len(table.order)])
    return done


def _select(table: SealedTable, user: UserRef, after: tuple[Value, ...]) -> tuple[str, tuple[Value, ...]]:
    """The next rows: their order, their identity, their sealed columns."""
    columns = ", ".join((*table.order, *table.identity, *(name for name, _ in table.columns)))
    order = ", ".join(table.order)
    behind = f"AND ({order}) > ({', '.join('?' * len(after))})" if after else ""
    statement = f"""SELECT {columns} FROM {table.name} WHERE tenant_id = ? AND user_id = ? {behind}
        ORDER BY {order} LIMIT {_BATCH}"""
    return statement, (user.tenant_id, user.user_id, *after)


def _changes(table: SealedTable, user: UserRef, key: DataKey, row: tuple[Any, ...]) -> list[_Change]:
    orders, identities = len(table.order), len(table.identity)
    identity = [str(part) for part in row[orders : orders + identities]]
    changes = []
    for (column, name), old in zip(table.columns, row[orders + identities :], strict=True):
        if old is not None and old[:_HEADER_BYTES] != key_header(key.key_no):
            place = row_place(name, user, *identity)
            changes.append(_Change(column, row[:orders], old, key.seal(place, key.open(place, old))))
    return changes


async def _apply(database: Database, table: SealedTable, user: UserRef, changes: list[_Change]) -> None:
    where = " AND ".join(f"{column} = ?" for column in table.order)

    def body(connection: Connection) -> None:
        for change in changes:
            column = change.column
            statement = f"""UPDATE {table.name} SET {column} = ?
                WHERE tenant_id = ? AND user_id = ? AND {where} AND {column} = ?"""
            parameters = (change.new, user.tenant_id, user.user_id, *change.row, change.old)
            connection.execute(statement, parameters)

    await database.write(user_scope(user), body, heavy=True)
    database.scrub()
