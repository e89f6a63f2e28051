"""Idempotency of writes: what was answered under a request id, in the same transaction as the write itself.

The answer to a write of facts shows their content, so it is forgotten with the fact: a repeat then raises `Erased`.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final, TypeVar

from assemblers.records import UserRef
from storage.errors import Erased, Repeated, RequestIdReused
from storage.ports import Receipt
from storage.sql.columns import to_micros

T = TypeVar("T")

KEPT: Final = timedelta(hours=24)
"""How long a repeat gets the first answer."""

_FIND = """SELECT body_sha256, response FROM receipts
    WHERE tenant_id = ? AND method = ? AND request_id = ? AND expire_time > ?"""
_STORE = """INSERT INTO receipts
    (tenant_id, method, request_id, user_id, fact_numbers, body_sha256, response, expire_time)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant_id, method, request_id) DO UPDATE SET user_id = excluded.user_id,
    fact_numbers = excluded.fact_numbers, body_sha256 = excluded.body_sha256, response = excluded.response,
    expire_time = excluded.expire_time"""
_OF_USER = """SELECT method, request_id, fact_numbers FROM receipts
    WHERE tenant_id = ? AND user_id = ? AND fact_numbers <> '[]' AND response IS NOT NULL"""
_FORGET = "UPDATE receipts SET response = NULL WHERE tenant_id = ? AND method = ? AND request_id = ?"


def once(
    connection: sqlite3.Connection,
    receipt: Receipt[T],
    body: Callable[[], T],
    user: UserRef | None = None,
    shows: Callable[[T], Iterable[int]] = lambda _: (),
) -> T:
    """Do `body` unless its request was done before. `shows` names the facts of `user` that the answer shows.

    Raises `Repeated`, `RequestIdReused`, or `Erased` where the former answer is gone. A request without an id is done.
    """
    key = (receipt.tenant_id, receipt.method, receipt.request_id)
    if not receipt.request_id:
        return body()
    found = connection.execute(_FIND, (*key, to_micros(receipt.now))).fetchone()
    if found is not None:
        raise _repeat(receipt, *found)
    result = body()
    user_id = user.user_id if user else ""
    numbers = json.dumps(sorted(set(shows(result))))
    expires = to_micros(receipt.now + KEPT)
    connection.execute(_STORE, (*key, user_id, numbers, receipt.body_sha256, receipt.encode(result), expires))
    return result


def claim(
    connection: sqlite3.Connection,
    key: tuple[str, str, str],
    body_sha256: bytes,
    user: UserRef,
    now: datetime,
) -> None:
    """Let a request id (tenant, method, id) stand for a body, where something else answers the repeats.

    Raises `RequestIdReused` where it stands for another. Nothing of an answer is kept, so nothing of it need be erased.
    """
    found = connection.execute(_FIND, (*key, to_micros(now))).fetchone()
    if found is None:
        expires = to_micros(now + KEPT)
        connection.execute(_STORE, (*key, user.user_id, "[]", body_sha256, None, expires))
    elif found[0] != body_sha256:
        raise _reused()


def _repeat(receipt: Receipt[T], body_sha256: bytes, response: bytes | None) -> Exception:
    if body_sha256 != receipt.body_sha256:
        return _reused()
    if response is None:
        return Erased("what was answered then has been deleted since")
    return Repeated(response)


def _reused() -> RequestIdReused:
    return RequestIdReused("the request id was used with another body; choose a new one")


def forget_answers_with(connection: sqlite3.Connection, user: UserRef, fact_no: int) -> None:
    """Remove the kept answers that show a fact."""
    rows = connection.execute(_OF_USER, (user.tenant_id, user.user_id)).fetchall()
    for method, request_id, numbers in rows:
        if fact_no in json.loads(numbers):
            connection.execute(_FORGET, (user.tenant_id, method, request_id))
