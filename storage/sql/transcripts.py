"""The turns of live sessions in SQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from assemblers.records import SessionRef, Turn
from storage.cursors import decode_number, encode_position
from storage.encryption.key_ring import KeyRing
from storage.encryption.user_cipher import UserCipher, reading_cipher, writing_cipher
from storage.errors import SessionChanged
from storage.ports import (
    ArchivedSession,
    ArchiveWritten,
    Page,
    PageRequest,
    Receipt,
    SessionEnded,
    TurnsWritten,
)
from storage.sql.announcing import Announcements
from storage.sql.archive_changes import append_sessions
from storage.sql.archives import SqlArchives
from storage.sql.columns import to_micros
from storage.sql.engine import Connection, Database, user_scope
from storage.sql.receipts import once
from storage.sql.retention import Retention
from storage.sql.turn_rows import (
    ALIVE,
    COLUMNS,
    COUNT_SESSION,
    OF_SESSION,
    REMOVE_SESSION,
    add_turn,
    owner,
    turn_of,
)
from storage.sql.writing import Done, unless_known

# The index is walked backwards to the latest question, so a long session costs no more than a short one.
_SINCE_QUESTION = f"""SELECT {COLUMNS} FROM turns WHERE {OF_SESSION} AND {ALIVE} AND turn_no >= coalesce(
    (SELECT turn_no FROM turns WHERE {OF_SESSION} AND {ALIVE} AND role = 'USER' ORDER BY turn_no DESC LIMIT 1), 0)
    ORDER BY turn_no"""
_PAGE = f"SELECT {COLUMNS} FROM turns WHERE {OF_SESSION} AND {ALIVE} AND turn_no > ? ORDER BY turn_no LIMIT ?"


class SqlTranscripts:
    """The port `TranscriptStore`."""

    def __init__(
        self,
        database: Database,
        archives: SqlArchives,
        announcements: Announcements,
        retention: Retention,
        keys: KeyRing,
    ) -> None:
        self._database, self._archives, self._keys = database, archives, keys
        self._announcements, self._retention = announcements, retention

    async def record(
        self,
        session: SessionRef,
        turns: Sequence[Turn],
        now: datetime,
        expire_time: datetime | None,
        receipt: Receipt[TurnsWritten],
    ) -> TurnsWritten:
        """Store turns behind the others, all or none."""
        cipher = await writing_cipher(self._keys, session.user)

        def change(connection: Connection) -> Done[TurnsWritten]:
            recorded = sum(add_turn(connection, cipher, session, turn, now, expire_time) for turn in turns)
            return Done(TurnsWritten(recorded, len(turns) - recorded))

        def body(connection: Connection) -> Done[TurnsWritten]:
            return once(connection, cipher, receipt, lambda: change(connection))

        done = await self._database.write(user_scope(session.user), body)
        self._retention.wrote(session.tenant_id, now)
        return done.result

    async def list(self, session: SessionRef, now: datetime, page: PageRequest) -> Page[Turn]:
        """The session's turns, oldest first."""
        after = decode_number(page.cursor, 0)
        cipher = await reading_cipher(self._keys, session.user)
        if cipher is None:
            return Page((), "")

        def numbered(no: int, *columns: Any) -> tuple[int, Turn]:
            return no, turn_of(cipher, session.session_id, no, *columns)

        parameters = (*owner(session), to_micros(now), after, page.size + 1)
        async with self._database.snapshot(session.tenant_id) as snapshot:
            rows = await snapshot.rows(_PAGE, parameters, numbered)
        items = rows[: page.size]
        more = len(rows) > page.size
        return Page(tuple(turn for _, turn in items), encode_position(items[-1][0]) if more else "")

    async def since_last_question(self, session: SessionRef, now: datetime) -> tuple[Turn, ...]:
        """The latest USER turn and all after it."""
        cipher = await reading_cipher(self._keys, session.user)
        if cipher is None:
            return ()
        condition = (*owner(session), to_micros(now))
        rows = await self._database.rows(session.tenant_id, _SINCE_QUESTION, (*condition, *condition))
        return tuple(turn_of(cipher, session.session_id, *row) for row in rows)

    async def end(
        self,
        session: SessionRef,
        archived: ArchivedSession | None,
        now: datetime,
        receipt: Receipt[SessionEnded],
        expected_turns: int | None = None,
    ) -> SessionEnded:
        """Archive what is given and remove the session's turns."""
        cipher = await writing_cipher(self._keys, session.user)

        def body(connection: Connection) -> Done[SessionEnded]:
            def change() -> Done[SessionEnded]:
                return _end(connection, cipher, session, archived, now, expected_turns)

            return once(connection, cipher, receipt, change)

        def forget() -> None:
            if archived is not None:
                self._archives.forget(session.user)

        def committed(_: Done[SessionEnded]) -> None:
            self._database.scrub()
            forget()

        scope = user_scope(session.user)
        with unless_known(forget):
            # Archiving stores more than it removes, and must not use up what is kept for removals.
            if archived is None:
                write = self._database.remove(scope, body, committed)
            else:
                write = self._database.write(scope, body, committed, heavy=True)
            return await self._announcements.of_archive(session.user, write)


def _end(
    connection: Connection,
    cipher: UserCipher,
    session: SessionRef,
    archived: ArchivedSession | None,
    now: datetime,
    expected_turns: int | None,
) -> Done[SessionEnded]:
    ((count,),) = connection.execute(COUNT_SESSION, (*owner(session), to_micros(now))).fetchall()
    if expected_turns not in (None, count):
        raise SessionChanged
    written: Done[ArchiveWritten | None] = Done(None)
    if archived is not None:
        added = append_sessions(connection, cipher, [archived], now)
        written = Done(added.result, added.epoch)
    connection.execute(REMOVE_SESSION, owner(session))
    return Done(SessionEnded(count, written.result), written.epoch)
