"""Turns as rows, and storing one within the caller's transaction."""

from datetime import datetime
from typing import Final

from assemblers.records import Role, SessionRef, Turn
from storage.encryption.places import TURN_CONTENT
from storage.encryption.user_cipher import UserCipher
from storage.errors import AlreadyExists
from storage.sql.columns import contents_from_json, contents_to_json, from_micros, to_micros
from storage.sql.engine import Connection, Value

COLUMNS: Final = "turn_no, turn_id, role, speaker, occur_time, content"
OF_SESSION: Final = "tenant_id = ? AND user_id = ? AND session_id = ?"
ALIVE: Final = "(expire_time IS NULL OR expire_time > ?)"

_INSERT = """INSERT INTO turns
    (tenant_id, user_id, session_id, turn_no, turn_id, role, speaker, occur_time, expire_time, content)
    VALUES (?, ?, ?, (SELECT coalesce(max(turn_no), 0) + 1 FROM turns WHERE tenant_id = ? AND user_id = ?
    AND session_id = ?), ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"""
_FIND = f"SELECT role, speaker, content, expire_time FROM turns WHERE {OF_SESSION} AND turn_id = ?"
_REMOVE = f"DELETE FROM turns WHERE {OF_SESSION} AND turn_id = ?"
REMOVE_SESSION: Final = f"DELETE FROM turns WHERE {OF_SESSION}"
COUNT_SESSION: Final = f"SELECT count(*) FROM turns WHERE {OF_SESSION} AND {ALIVE}"


def owner(session: SessionRef) -> tuple[str, str, str]:
    """The arguments of `OF_SESSION`."""
    return session.tenant_id, session.user_id, session.session_id


# fmt: off
def turn_of(
    cipher: UserCipher, session_id: str, _no: int, turn_id: str, role: str, speaker: str, occur_time: int,
    content: bytes,
) -> Turn:
    # fmt: on
    """The turn in a row of `COLUMNS`. Raises `StorageDamaged` where it does not open."""
    said = cipher.open(TURN_CONTENT, content, session_id, turn_id)
    return Turn(turn_id, Role(role), contents_from_json(said), from_micros(occur_time), speaker)


def add_turn(
    connection: Connection,
    cipher: UserCipher,
    session: SessionRef,
    turn: Turn,
    now: datetime,
    expire_time: datetime | None,
) -> bool:
    """Store a turn behind the others. False: it is there already, with equal content.

    Raises `AlreadyExists` where its id stands for other content. An expired turn is as good as none.
    """
    content = contents_to_json(turn.contents)
    sealed = cipher.seal(TURN_CONTENT, content, session.session_id, turn.turn_id)
    row = _row(session, turn, expire_time, sealed)
    key = (*owner(session), turn.turn_id)
    while not connection.execute(_INSERT, row).rowcount:
        found = connection.execute(_FIND, key).fetchone()
        # None: another process has used the number for another turn, and there is a next one now.
        if found is not None and not _expired(found[3], now):
            # The time is left out: a repeat may have been stamped anew on its way.
            said = cipher.open(TURN_CONTENT, found[2], session.session_id, turn.turn_id)
            if (found[0], found[1], said) != (turn.role, turn.speaker, content):
                raise AlreadyExists("turn_id")
            return False
        connection.execute(_REMOVE, key)
    return True


def _expired(expire_time: int | None, now: datetime) -> bool:
    return expire_time is not None and expire_time <= to_micros(now)


def _row(
    session: SessionRef, turn: Turn, expire_time: datetime | None, sealed: bytes
) -> tuple[Value, ...]:
    return (
        *owner(session),
        *owner(session),
        turn.turn_id,
        turn.role,
        turn.speaker,
        to_micros(turn.occur_time),
        None if expire_time is None else to_micros(expire_time),
        sealed,
    )
