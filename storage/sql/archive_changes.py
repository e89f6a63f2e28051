"""What archiving does, within the caller's transaction."""

import secrets
from collections.abc import Sequence
from datetime import datetime

from assemblers.ranking import INDEX_FORMAT
from storage.encryption.places import EXCERPT_CONTENT, EXCERPT_SALT, POSTING_TERMS
from storage.encryption.user_cipher import UserCipher
from storage.ledger import commitment, excerpt_content
from storage.ports import ArchivedSession, ArchiveWritten, ExcerptDraft
from storage.sql.bulk import insert_rows
from storage.sql.columns import from_micros, terms_to_json, to_micros
from storage.sql.counters import Counters, read_counters, write_counters
from storage.sql.engine import Connection, Value
from storage.sql.writing import Done

_EXCERPT_COLUMNS = (
    "tenant_id", "user_id", "no", "session_no", "turn_id", "position", "role", "speaker", "occur_time", "write_time",
    "commitment", "salt", "content",
)  # fmt: skip
_POSTING_COLUMNS = ("tenant_id", "user_id", "excerpt_no", "index_format", "terms")
_FIND_SESSION = """SELECT session_no, session_time FROM archived_sessions
    WHERE tenant_id = ? AND user_id = ? AND session_id = ?"""
_ADD_SESSION = """INSERT INTO archived_sessions (tenant_id, user_id, session_id, session_no, session_time)
    VALUES (?, ?, ?, ?, ?)"""
_KNOWN = "SELECT turn_id, position FROM excerpts WHERE tenant_id = ? AND user_id = ? AND session_no = ?"


def append_sessions(
    connection: Connection, cipher: UserCipher, sessions: Sequence[ArchivedSession], now: datetime
) -> Done[ArchiveWritten]:
    """Add the excerpts that are not there yet; the first date given to a session stays its date."""
    counters = read_counters(connection, cipher.user)
    first_no = counters.excerpt_no + 1
    duplicates = sum(_append_session(connection, cipher, session, now, counters) for session in sessions)
    end_no = counters.excerpt_no + 1
    written = ArchiveWritten(end_no - first_no, duplicates, first_no, end_no)
    if not written.added:
        return Done(written)
    counters.archive_epoch += 1
    write_counters(connection, cipher.user, counters)
    return Done(written, counters.archive_epoch)


def _append_session(
    connection: Connection, cipher: UserCipher, session: ArchivedSession, now: datetime, counters: Counters
) -> int:
    """Add one session's excerpts; gives how many were there already."""
    if not session.excerpts:
        return 0
    owner = (cipher.user.tenant_id, cipher.user.user_id)
    found = connection.execute(_FIND_SESSION, (*owner, session.session_id)).fetchone()
    if found is None:
        counters.archived_session_no += 1
        found = (counters.archived_session_no, to_micros(session.session_time))
        connection.execute(_ADD_SESSION, (*owner, session.session_id, *found))
    session_no, session_time = found
    known = {tuple(row) for row in connection.execute(_KNOWN, (*owner, session_no)).fetchall()}
    dated = ArchivedSession(session.session_id, from_micros(session_time), session.excerpts)
    excerpts, postings = [], []
    for draft in session.excerpts:
        if (draft.turn_id, draft.position) in known:
            continue
        known.add((draft.turn_id, draft.position))
        counters.excerpt_no += 1
        no = counters.excerpt_no
        terms = cipher.seal(POSTING_TERMS, terms_to_json(draft.terms), str(no))
        excerpts.append((*owner, no, session_no, *_columns(cipher, no, dated, draft, now)))
        postings.append((*owner, no, INDEX_FORMAT, terms))
    insert_rows(connection, "excerpts", _EXCERPT_COLUMNS, excerpts)
    insert_rows(connection, "postings", _POSTING_COLUMNS, postings)
    return len(session.excerpts) - len(excerpts)


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
