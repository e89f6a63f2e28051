"""What archiving does, within the caller's transaction."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from assemblers.ranking import INDEX_FORMAT
from assemblers.records import UserRef
from storage.encryption.places import EXCERPT_CONTENT, EXCERPT_SALT, POSTING_TERMS
from storage.encryption.user_cipher import UserCipher
from storage.ledger import commitment, excerpt_content
from storage.ports import ArchivedSession, ArchiveWritten, ExcerptDraft
from storage.sql.bulk import ROWS, insert_rows, rows_in
from storage.sql.columns import from_micros, terms_to_json, to_micros
from storage.sql.counters import Counters, read_counters, write_counters
from storage.sql.engine import Connection, Value
from storage.sql.writing import Done

_EXCERPT_COLUMNS = (
    "tenant_id", "user_id", "no", "session_no", "turn_id", "position", "role", "speaker", "occur_time", "write_time",
    "commitment", "salt", "content",
)  # fmt: skip
_POSTING_COLUMNS = ("tenant_id", "user_id", "excerpt_no", "index_format", "terms")
_SESSION_COLUMNS = ("tenant_id", "user_id", "session_id", "session_no", "session_time")
_FIND_SESSIONS = """SELECT session_id, session_no, session_time FROM archived_sessions
    WHERE tenant_id = ? AND user_id = ? AND session_id IN ({values})"""
_KNOWN = """SELECT session_no, turn_id, position FROM excerpts
    WHERE tenant_id = ? AND user_id = ? AND session_no IN ({values})"""


class _Numbered(NamedTuple):
    """A new excerpt with its number, the number of its session, and its session as it is dated."""

    no: int
    session_no: int
    session: ArchivedSession
    draft: ExcerptDraft


def append_sessions(
    connection: Connection, cipher: UserCipher, sessions: Sequence[ArchivedSession], now: datetime
) -> Done[ArchiveWritten]:
    """Add the excerpts that are not there yet; the first date given to a session stays its date."""
    counters = read_counters(connection, cipher.user)
    first_no = counters.excerpt_no + 1
    new = _new_excerpts(connection, cipher.user, [s for s in sessions if s.excerpts], counters)
    for start in range(0, len(new), ROWS):
        # Sealed a few at a time: who else waits for this process has its turn with each statement.
        _insert(connection, cipher, new[start : start + ROWS], now)
    given = sum(len(session.excerpts) for session in sessions)
    written = ArchiveWritten(len(new), given - len(new), first_no, counters.excerpt_no + 1)
    if not written.added:
        return Done(written)
    counters.archive_epoch += 1
    write_counters(connection, cipher.user, counters)
    return Done(written, counters.archive_epoch)


def _new_excerpts(
    connection: Connection, user: UserRef, sessions: Sequence[ArchivedSession], counters: Counters
) -> list[_Numbered]:
    """Those that are not there yet, with their numbers; their sessions are there afterwards."""
    owner = (user.tenant_id, user.user_id)
    ids = [session.session_id for session in sessions]
    found = {row[0]: (row[1], row[2]) for row in rows_in(connection, _FIND_SESSIONS, owner, ids)}
    numbers = [number for number, _ in found.values()]
    known = {tuple(row) for row in rows_in(connection, _KNOWN, owner, numbers)}
    places = found | _add_sessions(
        connection, user, [s for s in sessions if s.session_id not in found], counters
    )
    new: list[_Numbered] = []
    for session in sessions:
        session_no, session_time = places[session.session_id]
        dated = ArchivedSession(session.session_id, from_micros(session_time), session.excerpts)
        for draft in session.excerpts:
            key = (session_no, draft.turn_id, draft.position)
            if key not in known:
                known.add(key)
                counters.excerpt_no += 1
                new.append(_Numbered(counters.excerpt_no, session_no, dated, draft))
    return new


def _add_sessions(
    connection: Connection, user: UserRef, sessions: Sequence[ArchivedSession], counters: Counters
) -> dict[str, tuple[int, int]]:
    """Store new sessions; gives the number and time of each by its id."""
    places: dict[str, tuple[int, int]] = {}
    for session in sessions:
        if session.session_id not in places:
            counters.archived_session_no += 1
            places[session.session_id] = counters.archived_session_no, to_micros(session.session_time)
    rows = [(user.tenant_id, user.user_id, session_id, *place) for session_id, place in places.items()]
    insert_rows(connection, "archived_sessions", _SESSION_COLUMNS, rows)
    return places


def _insert(connection: Connection, cipher: UserCipher, new: Sequence[_Numbered], now: datetime) -> None:
    owner = (cipher.user.tenant_id, cipher.user.user_id)
    excerpts, postings = [], []
    for no, session_no, session, draft in new:
        terms = cipher.seal(POSTING_TERMS, terms_to_json(draft.terms), str(no))
        excerpts.append((*owner, no, session_no, *_columns(cipher, no, session, draft, now)))
        postings.append((*owner, no, INDEX_FORMAT, terms))
    insert_rows(connection, "excerpts", _EXCERPT_COLUMNS, excerpts)
    insert_rows(connection, "postings", _POSTING_COLUMNS, postings)


def _columns(
    cipher: UserCipher, no: int, session: ArchivedSession, draft: ExcerptDraft, now: datetime
) -> tuple[Value, ...]:
    salt = secrets.token_bytes(16)
    proof = commitment(salt, excerpt_content(session.session_id, session.session_time, draft))
    return (
        draft.turn_id,
        draft.position,
        draft.role,
        draft.speaker,
        to_micros(draft.occur_time),
        to_micros(now),
        proof,
        cipher.seal(EXCERPT_SALT, salt, str(no)),
        cipher.seal(EXCERPT_CONTENT, draft.text.encode(), str(no)),
    )
