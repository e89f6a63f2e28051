"""Vectors of excerpts in SQL: little-endian float32 in and out, whatever the column is made of."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assemblers.records import UserRef
from storage.sql.bulk import insert_rows
from storage.sql.columns import MAX_NUMBER
from storage.sql.counters import read_counters, write_counters
from storage.sql.engine import Connection
from storage.sql.writing import Done

StoredVector = tuple[int, NDArray[np.float32]]
"""An excerpt's number and its vector."""

SELECT_VECTORS: Final = """SELECT excerpt_no, vector FROM excerpt_vectors
    WHERE tenant_id = ? AND user_id = ? AND embedder = ?"""

_NUMBERS_AT_ONCE: Final = 256
_COLUMNS: Final = ("tenant_id", "user_id", "embedder", "excerpt_no", "vector")
_WITHOUT: Final = """SELECT e.no FROM excerpts e LEFT JOIN excerpt_vectors v
    ON v.tenant_id = e.tenant_id AND v.user_id = e.user_id AND v.embedder = ?1 AND v.excerpt_no = e.no
    WHERE e.tenant_id = ?2 AND e.user_id = ?3 AND e.content IS NOT NULL AND v.excerpt_no IS NULL"""


def vector_of(number: int, vector: bytes) -> StoredVector:
    """The vector in a row. One that is cut short is empty, which no space has."""
    whole = len(vector) - len(vector) % 4
    return number, np.frombuffer(vector[:whole], "<f4").astype(np.float32, copy=False)


def append_vectors(
    connection: Connection, user: UserRef, embedder: str, vectors: Mapping[int, NDArray[np.float32]]
) -> Done[int]:
    """Add those whose excerpt is there and has none of this embedder, within the caller's transaction."""
    new = _without(connection, user, embedder, sorted(no for no in vectors if abs(no) <= MAX_NUMBER))
    if not new:
        return Done(0)
    owner = (user.tenant_id, user.user_id, embedder)
    insert_rows(
        connection,
        "excerpt_vectors",
        _COLUMNS,
        [(*owner, no, vectors[no].astype("<f4", copy=False).tobytes()) for no in new],
    )
    counters = read_counters(connection, user)
    counters.archive_epoch += 1
    write_counters(connection, user, counters)
    return Done(len(new), counters.archive_epoch)


def _without(connection: Connection, user: UserRef, embedder: str, numbers: Sequence[int]) -> list[int]:
    """Those of the excerpts that have no vector of this embedder."""
    found: list[int] = []
    for start in range(0, len(numbers), _NUMBERS_AT_ONCE):
        some = numbers[start : start + _NUMBERS_AT_ONCE]
        places = ", ".join(f"?{place}" for place in range(4, 4 + len(some)))
        statement = f"{_WITHOUT} AND e.no IN ({places})"
        rows = connection.execute(statement, (embedder, user.tenant_id, user.user_id, *some)).fetchall()
        found += [row[0] for row in rows]
    return found
