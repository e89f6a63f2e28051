"""Facts as rows: the columns, the conditions of a selector, and the way back to a record."""

from typing import Final

from assemblers.records import Fact, FactKind, FactOrigin, FactState, Subject, UserRef, ValueType
from storage.encryption.places import FACT_CONTENT
from storage.encryption.user_cipher import UserCipher
from storage.ports import FactSelector
from storage.sql.columns import MAX_NUMBER, from_micros, to_micros, value_from_content
from storage.sql.engine import Connection, Value

COLUMNS: Final = """no, subject_kind, subject_id, fact_key, value_type, kind, origin, source, source_turn, writer,
    confidence_permille, read_time, write_time, expire_time, revision, state, superseded_by, invalidated_time,
    invalidation_reason, commitment, content"""

FIND: Final = f"SELECT {COLUMNS} FROM facts WHERE tenant_id = ? AND user_id = ? AND no = ?"
FIND_CURRENT: Final = f"""SELECT {COLUMNS} FROM facts WHERE tenant_id = ? AND user_id = ? AND subject_kind = ?
    AND subject_id = ? AND fact_key = ? AND state = 'CURRENT'"""
COUNT_CURRENT: Final = """SELECT count(*) FROM facts
    WHERE tenant_id = ? AND user_id = ? AND state = 'CURRENT' AND expire_time > ?"""
# All current facts and, for each (subject, key), the latest of the retired ones.
SNAPSHOT: Final = f"""SELECT {COLUMNS} FROM facts WHERE tenant_id = ? AND user_id = ? AND shown = 1
    ORDER BY fact_key, subject_kind, subject_id, no"""
EPOCH: Final = "SELECT fact_epoch FROM users WHERE tenant_id = ? AND user_id = ?"


# fmt: off
def fact_of(
    cipher: UserCipher, no: int, subject_kind: str, subject_id: str, key: str, value_type: str, kind: str, origin: str,
    source: str, source_turn: str, writer: str, confidence_permille: int, read_time: int, write_time: int,
    expire_time: int, revision: int, state: str, superseded_by: int, invalidated_time: int | None,
    invalidation_reason: str, commitment: bytes, content: bytes | None,
) -> Fact:
    # fmt: on
    """The fact in a row of `COLUMNS`. Raises `StorageDamaged` where its content does not open."""
    typed = ValueType(value_type)
    said = None if content is None else cipher.open(FACT_CONTENT, content, str(no))
    return Fact(
        no=no,
        user=cipher.user,
        subject=Subject(subject_kind, subject_id),
        key=key,
        type=typed,
        value=value_from_content(typed, said),
        kind=FactKind(kind),
        origin=FactOrigin(origin),
        source=source,
        writer=writer,
        confidence_permille=confidence_permille,
        read_time=from_micros(read_time),
        write_time=from_micros(write_time),
        expire_time=from_micros(expire_time),
        revision=revision,
        source_turn=source_turn,
        state=FactState(state),
        superseded_by=superseded_by,
        invalidated_time=None if invalidated_time is None else from_micros(invalidated_time),
        invalidation_reason=invalidation_reason,
        commitment=commitment,
    )


def find(connection: Connection, cipher: UserCipher, no: int) -> Fact | None:
    """The fact of that number."""
    user = cipher.user
    row = connection.execute(FIND, (user.tenant_id, user.user_id, no)).fetchone()
    return None if row is None else fact_of(cipher, *row)


def find_current(connection: Connection, cipher: UserCipher, subject: Subject, key: str) -> Fact | None:
    """The current fact of a (subject, key); there is at most one."""
    user = cipher.user
    arguments = (user.tenant_id, user.user_id, subject.kind, subject.id, key)
    row = connection.execute(FIND_CURRENT, arguments).fetchone()
    return None if row is None else fact_of(cipher, *row)


def conditions(user: UserRef, selector: FactSelector) -> tuple[str, list[Value]]:
    """The WHERE clause of a selector and its arguments. Its text comes from here only, never from a caller."""
    written_from, written_until = selector.written_from, selector.written_until
    wanted: dict[str, Value] = {
        # A number that no column can hold is no fact's; 0 is none's either.
        "no = ?": 0 if selector.no is not None and abs(selector.no) > MAX_NUMBER else selector.no,
        "subject_kind = ?": selector.subject.kind if selector.subject else None,
        "subject_id = ?": selector.subject.id if selector.subject else None,
        "fact_key = ?": selector.key,
        "source = ?": selector.source,
        "writer = ?": selector.writer,
        "write_time >= ?": None if written_from is None else to_micros(written_from),
        "write_time < ?": None if written_until is None else to_micros(written_until),
        "state = ?": None if selector.include_retired else FactState.CURRENT.value,
    }
    chosen = {clause: value for clause, value in wanted.items() if value is not None}
    clauses = " AND ".join(("tenant_id = ?", "user_id = ?", *chosen))
    return clauses, [user.tenant_id, user.user_id, *chosen.values()]
