"""Idempotency of writes: what was answered under a request id, in the same transaction as the write itself.

A request id is claimed before anything else is done under it. So of two processes that are sent one request at once,
the second waits for the first, and then finds what it answered. The answer to a write of facts shows their content, so
it is forgotten with the fact: a repeat then raises `Erased`.
"""

import json
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar

from assemblers.records import UserRef
from storage.encryption.places import RECEIPT_RESPONSE
from storage.encryption.user_cipher import UserCipher
from storage.errors import Erased, Repeated, RequestIdReused
from storage.ports import Receipt
from storage.sql.columns import to_micros
from storage.sql.engine import Connection
from storage.sql.writing import Done

T = TypeVar("T")

KEPT: Final = timedelta(hours=24)
"""How long a repeat gets the first answer."""

_CLAIM = """INSERT INTO receipts
    (tenant_id, method, request_id, user_id, fact_numbers, body_sha256, response, expire_time)
    VALUES (?, ?, ?, ?, '[]', ?, NULL, ?)
    ON CONFLICT (tenant_id, method, request_id) DO UPDATE SET user_id = excluded.user_id,
    fact_numbers = excluded.fact_numbers, body_sha256 = excluded.body_sha256, response = NULL,
    expire_time = excluded.expire_time WHERE receipts.expire_time <= ?"""
_FIND = "SELECT body_sha256, response FROM receipts WHERE tenant_id = ? AND method = ? AND request_id = ?"
_ANSWER = """UPDATE receipts SET fact_numbers = ?, response = ?
    WHERE tenant_id = ? AND method = ? AND request_id = ?"""
_OF_USER = """SELECT method, request_id, fact_numbers FROM receipts
    WHERE tenant_id = ? AND user_id = ? AND fact_numbers <> '[]' AND response IS NOT NULL"""
_FORGET = "UPDATE receipts SET response = NULL WHERE tenant_id = ? AND method = ? AND request_id = ?"


class RequestKey(NamedTuple):
    """What a request id is unique within."""

    tenant_id: str
    method: str
    request_id: str


class Claimed(NamedTuple):
    """What a request id stands for already: the fingerprint of a body, and the answer, which is sealed."""

    body: bytes
    response: bytes | None


def once(
    connection: Connection,
    cipher: UserCipher,
    receipt: Receipt[T],
    change: Callable[[], Done[T]],
    shows: Callable[[T], Iterable[int]] = lambda _: (),
) -> Done[T]:
    """Do `change` unless its request was done before. `shows` names the facts of the user that the answer shows.

    The answer is kept under `cipher`, which is the user's, or the tenant's where the write is no user's.
    Raises `Repeated`, `RequestIdReused`, or `Erased` where the former answer is gone. A request without an id is done.
    """
    if not receipt.request_id:
        return change()
    key = RequestKey(receipt.tenant_id, receipt.method, receipt.request_id)
    body = cipher.fingerprint(receipt.body_sha256)
    found = claim(connection, key, body, cipher.user.user_id, receipt.now)
    if found is not None:
        raise _repeat(cipher, key, body, found)
    done = change()
    numbers = json.dumps(sorted(set(shows(done.result))))
    response = cipher.seal(RECEIPT_RESPONSE, receipt.encode(done.result), key.method, key.request_id)
    connection.execute(_ANSWER, (numbers, response, *key))
    return done


def claim(
    connection: Connection, key: RequestKey, body: bytes, user_id: str, now: datetime
) -> Claimed | None:
    """Let a request id stand for a body, by its fingerprint, from now on and without an answer. Gives what it stands
    for already, if it does.

    Nothing of an answer is kept by this, so nothing of it need be erased.
    """
    claimed = (*key, user_id, body, to_micros(now + KEPT), to_micros(now))
    while not connection.execute(_CLAIM, claimed).rowcount:
        row = connection.execute(_FIND, key).fetchone()
        # None: another process has removed it in between.
        if row is not None:
            return Claimed(*row)
    return None


def claim_for(
    connection: Connection, cipher: UserCipher, key: RequestKey, body_sha256: bytes, now: datetime
) -> None:
    """Let a request id stand for a body, where something else answers the repeats.

    Raises `RequestIdReused` where it stands for another.
    """
    body = cipher.fingerprint(body_sha256)
    found = claim(connection, key, body, cipher.user.user_id, now)
    if found is not None and found.body != body:
        raise _reused()


def _repeat(cipher: UserCipher, key: RequestKey, body: bytes, found: Claimed) -> Exception:
    if found.body != body:
        return _reused()
    if found.response is None:
        return Erased("what was answered then has been deleted since")
    return Repeated(cipher.open(RECEIPT_RESPONSE, found.response, key.method, key.request_id))


def _reused() -> RequestIdReused:
    return RequestIdReused("the request id was used with another body; choose a new one")


def forget_answers_with(connection: Connection, user: UserRef, fact_no: int) -> None:
    """Remove the kept answers that show a fact."""
    rows = connection.execute(_OF_USER, (user.tenant_id, user.user_id)).fetchall()
    for method, request_id, numbers in rows:
        if fact_no in json.loads(numbers):
            connection.execute(_FORGET, (user.tenant_id, method, request_id))
