"""Which columns are sealed under users' keys, and how their rows are told apart and walked through."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from storage.encryption import places


@dataclass(frozen=True, slots=True)
class SealedTable:
    """A table with sealed columns.

    `columns` are places' names by column. `identity` are the columns whose values, as text, end a row's place. `order`
    are the columns that, behind tenant and user, order the rows by an index, each in a place of its own.
    """

    name: str
    columns: Sequence[tuple[str, str]]
    identity: tuple[str, ...]
    order: tuple[str, ...]


SEALED_TABLES: Final = (
    SealedTable(
        "facts",
        (("content", places.FACT_CONTENT), ("salt", places.FACT_SALT)),
        identity=("no",),
        order=("no",),
    ),
    SealedTable(
        "excerpts",
        (("content", places.EXCERPT_CONTENT), ("salt", places.EXCERPT_SALT)),
        identity=("no",),
        order=("no",),
    ),
    SealedTable(
        "postings", (("terms", places.POSTING_TERMS),), identity=("excerpt_no",), order=("excerpt_no",)
    ),
    SealedTable(
        "turns",
        (("content", places.TURN_CONTENT),),
        identity=("session_id", "turn_id"),
        order=("session_id", "turn_no"),
    ),
    SealedTable(
        "traces",
        (("content", places.TRACE_CONTENT),),
        identity=("trace_id",),
        order=("session_id", "sequence"),
    ),
    SealedTable(
        "receipts",
        (("response", places.RECEIPT_RESPONSE),),
        identity=("method", "request_id"),
        order=("method", "request_id"),
    ),
)
