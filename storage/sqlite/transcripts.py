"""The turns of live sessions on SQLite."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from assemblers.records import SessionRef, Turn
from storage.cursors import decode_number, encode_position
from storage.errors import SessionChanged
from storage.ports import ArchivedSession, Page, PageRequest, Receipt, SessionEnded, TurnsWritten
from storage.sql.columns import to_micros
from storage.sqlite.archive_changes import append_sessions
from storage.sqlite.archives import SqliteArchives
from storage.sqlite.checkpoints import Checkpoints
from storage.sqlite.database import Database
from storage.sqlite.receipts import once
from storage.sqlite.retention import Retention
from storage.sqlite.turn_rows import (
    ALIVE,
    COLUMNS,
    COUNT_SESSION,
    OF_SESSION,
    REMOVE_SESSION,
    add_turn,
    owner,
    turn_of,
)

# The index is walked backwards to the latest question, so a long session costs no more than a short one.
_SINCE_QUESTION = f"""SELECT {COLUMNS} FROM turns WHERE {OF_SESSION} AND {ALIVE} AND turn_no >= coalesce(
    (SELECT turn_no FROM turns WHERE {OF_SESSION} AND {ALIVE} AND role = 'USER' ORDER BY turn_no DESC LIMIT 1), 0)
    ORDER BY turn_no"""
_PAGE = f"SELECT {COLUMNS} FROM turns WHERE {OF_SESSION} AND {ALIVE} AND turn_no > ? ORDER BY turn_no LIMIT ?"


class SqliteTranscripts:
    """The port `TranscriptStore`."""

    def __init__(
        self, database: Database, archives: SqliteArchives, checkpoints: Checkpoints, retention: Retention
    ) -> None:
        self._database, self._archives = database, archives
        self._checkpoints, self._retention = checkpoints, retention

    async def record(
        self,
        session: SessionRef,
        turns: Sequence[Turn],
        now: datetime,
        expire_time: datetime | None,
        receipt: Receipt[TurnsWritten],
    ) -> TurnsWritten:
        """Store turns behind the others, all or none."""

        def change(connection: sqlite3.Connection) -> TurnsWritten:
            recorded = sum(add_turn(connection, session, turn, now, expire_time) for turn in turns)
            return TurnsWritten(recorded, len(turns) - recorded)

        def body(connection: sqlite3.Connection) -> TurnsWritten:
            self._retention.sweep(connection, to_micros(now))
            return once(connection, receipt, lambda: change(connection), session.user)

        return await self._database.write(body)

    async def list(self, session: SessionRef, now: datetime, page: PageRequest) -> Page[Turn]:
        """The session's turns, oldest first."""
        after = decode_number(page.cursor, 0)
        async with self._database.snapshot() as snapshot:
            rows = await snapshot.rows(
                _PAGE, (*owner(session), to_micros(now), after, page.size + 1), _numbered
            )
        items = rows[: page.size]
        more = len(rows) > page.size
        return Page(tuple(turn for _, turn in items), encode_position(items[-1][0]) if more else "")

    async def since_last_question(self, session: SessionRef, now: datetime) -> tuple[Turn, ...]:
        """The latest USER turn and all after it."""
        condition = (*owner(session), to_micros(now))
        rows = self._database.rows(_SINCE_QUESTION, (*condition, *condition))
        return tuple(turn_of(*row) for row in rows)

    async def end(
        self,
        session: SessionRef,
        archived: ArchivedSession | None,
        now: datetime,
        receipt: Receipt[SessionEnded],
        expected_turns: int | None = None,
    ) -> SessionEnded:
        """Archive what is given and remove the session's turns."""

        def change(connection: sqlite3.Connection) -> SessionEnded:
            (count,) = connection.execute(COUNT_SESSION, (*owner(session), to_micros(now))).fetchone()
            if expected_turns not in (None, count):
                raise SessionChanged
            written = (
                append_sessions(connection, session.user, [archived], now) if archived is not None else None
            )
            connection.execute(REMOVE_SESSION, owner(session))
            return SessionEnded(count, written)

        def body(connection: sqlite3.Connection) -> SessionEnded:
            return once(connection, receipt, lambda: change(connection), session.user)

        def committed(_: SessionEnded) -> None:
            self._checkpoints.scrub()
            if archived is not None:
                self._archives.forget(session.user)

        # Archiving stores more than it removes, and must not use up what is kept for removals.
        if archived is None:
            return await self._database.remove(body, committed)
        return await self._database.write(body, committed, heavy=True)


def _numbered(
    no: int, turn_id: str, role: str, speaker: str, occur_time: int, content: bytes
) -> tuple[int, Turn]:
    return no, turn_of(no, turn_id, role, speaker, occur_time, content)
