"""The row of each user: its pseudonym and the counters that number its things and its changes."""

import secrets
from dataclasses import dataclass

from assemblers.records import UserRef
from storage.sql.engine import Connection

_CREATE = """INSERT INTO users
    (tenant_id, user_id, pseudonym, fact_epoch, archive_epoch, fact_no, excerpt_no, archived_session_no)
    VALUES (?, ?, ?, 0, 0, 0, 0, 0) ON CONFLICT (tenant_id, user_id) DO NOTHING"""
_READ = """SELECT fact_epoch, archive_epoch, fact_no, excerpt_no, archived_session_no FROM users
    WHERE tenant_id = ? AND user_id = ?"""
_WRITE = """INSERT INTO users
    (tenant_id, user_id, pseudonym, fact_epoch, archive_epoch, fact_no, excerpt_no, archived_session_no)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant_id, user_id) DO UPDATE SET fact_epoch = excluded.fact_epoch,
    archive_epoch = excluded.archive_epoch, fact_no = excluded.fact_no, excerpt_no = excluded.excerpt_no,
    archived_session_no = excluded.archived_session_no"""


@dataclass(slots=True)
class Counters:
    """How often a user's facts and archive changed, and the numbers given out last. Changed within one transaction,
    which holds the user's lock."""

    fact_epoch: int
    archive_epoch: int
    fact_no: int
    excerpt_no: int
    archived_session_no: int


def ensure_user(connection: Connection, user: UserRef) -> None:
    """Create the user's row if there is none."""
    connection.execute(_CREATE, _new_row(user))


def _new_row(user: UserRef) -> tuple[str, str, str]:
    return user.tenant_id, user.user_id, secrets.token_hex(16)


def read_counters(connection: Connection, user: UserRef) -> Counters:
    """The counters of a user; all 0 for one that is not known, who does not become known by it."""
    row = connection.execute(_READ, (user.tenant_id, user.user_id)).fetchone()
    return Counters(0, 0, 0, 0, 0) if row is None else Counters(*row)


def write_counters(connection: Connection, user: UserRef, counters: Counters) -> None:
    """Store the counters as they are now; the user's row is created if need be."""
    values = (
        counters.fact_epoch,
        counters.archive_epoch,
        counters.fact_no,
        counters.excerpt_no,
        counters.archived_session_no,
    )
    connection.execute(_WRITE, (*_new_row(user), *values))


def advance_facts(connection: Connection, user: UserRef) -> int:
    """The user's facts changed: their epoch from now on."""
    counters = read_counters(connection, user)
    counters.fact_epoch += 1
    write_counters(connection, user, counters)
    return counters.fact_epoch
