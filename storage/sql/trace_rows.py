"""Traces as rows, and the conditions of a selector."""

from collections.abc import Callable
from typing import Final

from assemblers.records import SessionRef
from storage.ports import Seal, StoredTrace, TraceSelector
from storage.sql.columns import from_micros, to_micros
from storage.sql.engine import Value

COLUMNS: Final = """sequence, trace_id, user_id, session_id, turn_id, policy, create_time, previous_hash,
    record_hash, record, content"""

# A revision by its own name, or any revision below a policy's: "0" is what follows "/" in the order of bytes.
_OF_POLICY: Final = "(policy = ? OR (policy >= ? AND policy < ?))"


def reader_of(tenant_id: str) -> Callable[..., StoredTrace]:
    """What turns a row of `COLUMNS` into a trace of this tenant, its content still sealed."""

    def trace_of(
        sequence: int,
        trace_id: str,
        user_id: str,
        session_id: str,
        turn_id: str,
        policy: str,
        create_time: int,
        previous_hash: bytes,
        record_hash: bytes,
        record: bytes,
        content: bytes | None,
    ) -> StoredTrace:
        return StoredTrace(
            trace_id=trace_id,
            session=SessionRef(tenant_id, user_id, session_id),
            turn_id=turn_id,
            policy=policy,
            create_time=from_micros(create_time),
            record=record,
            content=content,
            seal=Seal(sequence, previous_hash, record_hash),
        )

    return trace_of


def conditions(tenant_id: str, selector: TraceSelector) -> tuple[str, list[Value]]:
    """The WHERE clause of a selector and its arguments. Its text comes from here only, never from a caller."""
    created_from, created_until = selector.created_from, selector.created_until
    wanted: dict[str, str | int | None] = {
        "user_id = ?": selector.user_id,
        "session_id = ?": selector.session_id,
        "turn_id = ?": selector.turn_id,
        "create_time >= ?": None if created_from is None else to_micros(created_from),
        "create_time < ?": None if created_until is None else to_micros(created_until),
    }
    chosen = {clause: value for clause, value in wanted.items() if value is not None}
    clauses = ["tenant_id = ?", *chosen]
    arguments: list[Value] = [tenant_id, *chosen.values()]
    if selector.policy is not None:
        clauses.append(_OF_POLICY)
        arguments += [selector.policy, f"{selector.policy}/revisions/", f"{selector.policy}/revisions0"]
    return " AND ".join(clauses), arguments
