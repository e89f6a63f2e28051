"""Invalidating many facts of a user in few statements, within the caller's transaction."""

from collections.abc import Sequence
from datetime import datetime

from assemblers.records import UserRef
from storage.sql.bulk import in_lists, marks
from storage.sql.columns import to_micros
from storage.sql.engine import Connection, Value

_INVALIDATE = """UPDATE facts SET state = 'INVALIDATED', invalidated_time = ?, invalidation_reason = ?
    WHERE tenant_id = ? AND user_id = ? AND no IN ({values})"""
_KEYS = """SELECT subject_kind, subject_id, fact_key FROM facts
    WHERE tenant_id = ? AND user_id = ? AND no IN ({values})"""
_HIDE_RETIRED = f"""UPDATE facts SET shown = 0 WHERE tenant_id = ? AND user_id = ? AND shown = 1 AND state <> 'CURRENT'
    AND (subject_kind, subject_id, fact_key) IN ({_KEYS})"""
_LATEST_RETIRED = """(SELECT r.no FROM facts r WHERE r.tenant_id = f.tenant_id AND r.user_id = f.user_id
    AND r.subject_kind = f.subject_kind AND r.subject_id = f.subject_id AND r.fact_key = f.fact_key
    AND r.state IN ('SUPERSEDED', 'INVALIDATED') ORDER BY r.read_time DESC, r.revision DESC LIMIT 1)"""
_SHOW_LATEST_RETIRED = f"""UPDATE facts SET shown = 1 WHERE tenant_id = ? AND user_id = ? AND no IN
    (SELECT {_LATEST_RETIRED} FROM facts f WHERE f.tenant_id = ? AND f.user_id = ? AND f.no IN ({{values}}))"""


def retire_facts(
    connection: Connection, user: UserRef, numbers: Sequence[int], reason: str, now: datetime
) -> None:
    """Invalidate the facts of these numbers, which are current: a writer that is found to be wrong may have written
    thousands. Of each (subject, key) that is concerned, the latest retired fact is shown afterwards, which need not be
    the one that was current."""
    owner = (user.tenant_id, user.user_id)
    for some in in_lists(numbers):
        invalidate, hide, show = statements(some)
        connection.execute(invalidate, (to_micros(now), reason, *owner, *some))
        connection.execute(hide, (*owner, *owner, *some))
        connection.execute(show, (*owner, *owner, *some))


def statements(numbers: Sequence[Value]) -> tuple[str, str, str]:
    """The three statements for facts of as many numbers."""
    values = marks(numbers)
    return (
        _INVALIDATE.format(values=values),
        _HIDE_RETIRED.format(values=values),
        _SHOW_LATEST_RETIRED.format(values=values),
    )
