"""Turns as rows, and storing one within the caller's transaction."""

import sqlite3
from datetime import datetime
from typing import Final

from assemblers.records import Role, SessionRef, Turn
from storage.errors import AlreadyExists
from storage.sql.columns import contents_from_json, contents_to_json, from_micros, to_micros

COLUMNS: Final = "turn_no, turn_id, role, speaker, occur_time, content"
OF_SESSION: Final = "tenant_id = ? AND user_id = ? AND session_id = ?"
ALIVE: Final = "(expire_time IS NULL OR expire_time > ?)"

_INSERT = """INSERT INTO turns
    (tenant_id, user_id, session_id, turn_no, turn_id, role, speaker, occur_time, expire_time, content)
    VALUES (?1, ?2, ?3, (SELECT coalesce(max(turn_no), 0) + 1 FROM turns
        WHERE tenant_id = ?1 AND user_id = ?2 AND session_id = ?3), ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT (tenant_id, user_id, session_id, turn_id) DO NOTHING"""
_FIND = f"SELECT role, speaker, content, expire_time FROM turns WHERE {OF_SESSION} AND turn_id = ?"
_REMOVE = f"DELETE FROM turns WHERE {OF_SESSION} AND turn_id = ?"
REMOVE_SESSION: Final = f"DELETE FROM turns WHERE {OF_SESSION}"
COUNT_SESSION: Final = f"SELECT count(*) FROM turns WHERE {OF_SESSION} AND {ALIVE}"


def owner(session: SessionRef) -> tuple[str, str, str]:
    """The arguments of `OF_SESSION`."""
    return session.tenant_id, session.user_id, session.session_id


def turn_of(_no: int, turn_id: str, role: str, speaker: str, occur_time: int, content: bytes) -> Turn:
    """The turn in a row of `COLUMNS`."""
    return Turn(turn_id, Role(role), contents_from_json(content), from_micros(occur_time), speaker)


def add_turn(
    connection: sqlite3.Connection,
    session: SessionRef,
    turn: Turn,
    now: datetime,
    expire_time: datetime | None,
) -> bool:
    """Store a turn behind the others. False: it is there already, with equal content.

    Raises `AlreadyExists` where its id stands for other content. An expired turn is as good as none.
    """
    content = contents_to_json(turn.contents)
    expires = None if expire_time is None else to_micros(expire_time)
    row = (
        *owner(session),
        turn.turn_id,
        turn.role,
        turn.speaker,
        to_micros(turn.occur_time),
        expires,
        content,
    )
    if connection.execute(_INSERT, row).rowcount:
        return True
    key = (*owner(session), turn.turn_id)
    role, speaker, stored, expired = connection.execute(_FIND, key).fetchone()
    if expired is not None and expired <= to_micros(now):
        connection.execute(_REMOVE, key)
        connection.execute(_INSERT, row)
        return True
    # The time is left out: a repeat may have been stamped anew on its way.
    if (role, speaker, stored) != (turn.role, turn.speaker, content):
        raise AlreadyExists("turn_id")
    return False
