"""Excerpts of past sessions in SQL, with the arrays that rank them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assemblers.ranking import IndexUnit, VectorSpace, build_archive, build_vectors
from assemblers.records import Excerpt, Role, UserRef
from storage.encryption.key_ring import KeyRing
from storage.encryption.places import EXCERPT_CONTENT, POSTING_TERMS
from storage.encryption.user_cipher import UserCipher, reading_cipher, writing_cipher
from storage.errors import Erased
from storage.ports import ArchivedSession, ArchiveSnapshot, ArchiveWritten, Receipt
from storage.snapshots import SnapshotCache
from storage.sql.announcing import Announcements
from storage.sql.archive_changes import append_sessions
from storage.sql.archive_vectors import SELECT_VECTORS, StoredVector, append_vectors, vector_of
from storage.sql.columns import MAX_NUMBER, from_micros, terms_from_json
from storage.sql.engine import Connection, Database, Value, user_scope
from storage.sql.receipts import once
from storage.sql.writing import Done, unless_known

CACHE_BYTES: Final = 256 * 2**20
_EXCERPT_BYTES: Final = 900
"""An excerpt in memory without its text and terms, by measurement with tracemalloc."""
_TERM_BYTES: Final = 90
_NUMBERS_AT_ONCE: Final = 256

_EPOCH = "SELECT archive_epoch FROM users WHERE tenant_id = ? AND user_id = ?"
_SELECT = """SELECT e.no, e.session_no, e.position, s.session_id, s.session_time, e.turn_id, e.role, e.speaker,
    e.occur_time, e.commitment, e.content, p.terms
    FROM excerpts e JOIN archived_sessions s USING (tenant_id, user_id, session_no)
    JOIN postings p ON p.tenant_id = e.tenant_id AND p.user_id = e.user_id AND p.excerpt_no = e.no
    WHERE e.tenant_id = ? AND e.user_id = ? AND e.content IS NOT NULL"""


class SqlArchives:
    """The port `ArchiveStore`."""

    def __init__(self, database: Database, announcements: Announcements, keys: KeyRing) -> None:
        self._database, self._announcements, self._keys = database, announcements, keys
        self._cache: SnapshotCache[ArchiveSnapshot] = SnapshotCache(self._load, _size, CACHE_BYTES)
        self._space: VectorSpace | None = None

    def carry(self, space: VectorSpace) -> None:
        """Which vectors snapshots carry."""
        self._space = space
        self._cache = SnapshotCache(self._load, _size, CACHE_BYTES)

    def peek(self, user: UserRef) -> ArchiveSnapshot | None:
        """The snapshot if it is in memory."""
        return self._cache.peek(user)

    async def load(self, user: UserRef) -> ArchiveSnapshot:
        """The snapshot."""
        return await self._cache.get(user)

    async def _load(self, user: UserRef) -> ArchiveSnapshot:
        cipher = await reading_cipher(self._keys, user)
        if cipher is None:
            return _arranged(0, ())
        owner, space, vectors = (user.tenant_id, user.user_id), self._space, list[StoredVector]()
        async with self._database.snapshot(user.tenant_id) as snapshot:
            row = await snapshot.row(_EPOCH, owner)
            excerpts = await snapshot.rows(_SELECT, owner, lambda *columns: excerpt_of(cipher, *columns))
            if space is not None and excerpts:
                vectors = await snapshot.rows(SELECT_VECTORS, (*owner, space.id), vector_of)
        return await self._database.compute(lambda: _arranged(row[0] if row else 0, excerpts, space, vectors))

    async def excerpts(self, user: UserRef, numbers: Sequence[int]) -> tuple[Excerpt, ...]:
        """The excerpts of those numbers, in their order."""
        # From the table even where the archive is in memory: a few look-ups by key beat a walk over all excerpts.
        found = await self._find(user, sorted({no for no in numbers if abs(no) <= MAX_NUMBER}))
        missing = [no for no in numbers if no not in found]
        if missing:
            raise Erased("an excerpt is gone")
        return tuple(found[no] for no in numbers)

    async def _find(self, user: UserRef, numbers: Sequence[int]) -> dict[int, Excerpt]:
        found: dict[int, Excerpt] = {}
        cipher = await reading_cipher(self._keys, user)
        if cipher is None:
            return found
        async with self._database.snapshot(user.tenant_id) as snapshot:
            for start in range(0, len(numbers), _NUMBERS_AT_ONCE):
                some = numbers[start : start + _NUMBERS_AT_ONCE]
                statement = f"{_SELECT} AND e.no IN ({', '.join('?' * len(some))})"
                parameters: list[Value] = [user.tenant_id, user.user_id, *some]
                rows = await snapshot.rows(
                    statement, parameters, lambda *columns: excerpt_of(cipher, *columns)
                )
                found.update((excerpt.no, excerpt) for excerpt in rows)
        return found

    async def append(
        self,
        user: UserRef,
        sessions: Sequence[ArchivedSession],
        now: datetime,
        receipt: Receipt[ArchiveWritten],
    ) -> ArchiveWritten:
        """Archive sessions; what is there already is counted and left as it is."""
        cipher = await writing_cipher(self._keys, user)

        def body(connection: Connection) -> Done[ArchiveWritten]:
            return once(
                connection, cipher, receipt, lambda: append_sessions(connection, cipher, sessions, now)
            )

        with unless_known(lambda: self.forget(user)):
            write = self._database.write(user_scope(user), body, lambda _: self.forget(user), heavy=True)
            return await self._announcements.of_archive(user, write)

    async def add_vectors(
        self, user: UserRef, space: VectorSpace, vectors: Mapping[int, NDArray[np.float32]]
    ) -> int:
        """Keep vectors of excerpts by number."""
        wrong = next((no for no, vector in vectors.items() if vector.shape != (space.dimension,)), None)
        if wrong is not None:
            raise ValueError(f"the vector of excerpt {wrong} is not of {space.dimension} components")

        def body(connection: Connection) -> Done[int]:
            return append_vectors(connection, user, space.id, vectors)

        with unless_known(lambda: self.forget(user)):
            write = self._database.write(user_scope(user), body, lambda _: self.forget(user), heavy=True)
            return await self._announcements.of_archive(user, write)

    def forget(self, user: UserRef) -> None:
        """The user's archive changed."""
        self._cache.forget(user)


def excerpt_of(
    cipher: UserCipher,
    no: int,
    session_no: int,
    position: int,
    session_id: str,
    session_time: int,
    turn_id: str,
    role: str,
    speaker: str,
    occur_time: int,
    commitment: bytes,
    content: bytes,
    terms: bytes,
) -> Excerpt:
    """The excerpt in a row. Raises `StorageDamaged` where it does not open."""
    return Excerpt(
        no=no,
        session_no=session_no,
        position=position,
        session_id=session_id,
        session_time=from_micros(session_time),
        turn_id=turn_id,
        role=Role(role),
        speaker=speaker,
        text=cipher.open(EXCERPT_CONTENT, content, str(no)).decode(),
        occur_time=from_micros(occur_time),
        terms=terms_from_json(cipher.open(POSTING_TERMS, terms, str(no))),
        commitment=commitment,
    )


def _arranged(
    epoch: int,
    excerpts: Sequence[Excerpt],
    space: VectorSpace | None = None,
    vectors: Sequence[StoredVector] = (),
) -> ArchiveSnapshot:
    """The snapshot of a user's excerpts and their vectors, both given in any order."""
    # Dated first; sessions of one instant stand in the order in which they were archived.
    sessions = sorted({(excerpt.session_time, excerpt.session_no) for excerpt in excerpts})
    ordinals = {number: ordinal for ordinal, (_, number) in enumerate(sessions)}
    units = [
        IndexUnit(excerpt.no, ordinals[excerpt.session_no], excerpt.position, excerpt.terms)
        for excerpt in excerpts
    ]
    archive = build_archive(units)
    by_number = {excerpt.no: excerpt for excerpt in excerpts}
    in_order = tuple(by_number[no] for no in archive.numbers.tolist())
    aligned = None if space is None else build_vectors(space, archive.numbers, dict(vectors))
    return ArchiveSnapshot(epoch, in_order, archive, aligned)


def _size(snapshot: ArchiveSnapshot) -> int:
    texts = sum(4 * len(excerpt.text) + _TERM_BYTES * len(excerpt.terms) for excerpt in snapshot.excerpts)
    vectors = 0 if snapshot.vectors is None else snapshot.vectors.nbytes
    return snapshot.archive.nbytes + vectors + texts + _EXCERPT_BYTES * (1 + len(snapshot.excerpts))
