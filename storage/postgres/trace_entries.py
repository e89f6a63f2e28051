"""Traces on their way: what `muniment_append` is given for a draft, and what it says became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from storage.encryption.places import TURN_CONTENT
from storage.encryption.user_cipher import UserCipher
from storage.errors import AlreadyExists, RequestIdReused, StorageError, StorageUnavailable
from storage.ports import Seal, TraceDraft
from storage.sql.columns import contents_to_json, to_micros
from storage.sql.engine import Value
from storage.sql.trace_reads import seal_trace

_PARAMETERS: Final = 18
APPEND: Final = (
    f"SELECT * FROM muniment_append({', '.join(f'${number + 1}' for number in range(_PARAMETERS))})"
)
"""The tenant, and an array for each of the `parameters`."""
_SEALED: Final = ("add", "add_turn", "done")


@dataclass(frozen=True, slots=True)
class Entry:
    """A draft with what is sealed of it. `turn_content` is None where no turn is kept; `turn_known` says that the turn
    was found in the store, and says the same."""

    draft: TraceDraft
    cipher: UserCipher
    content: bytes
    turn_content: bytes | None
    turn_known: bool = False


@dataclass(frozen=True, slots=True)
class TurnThere:
    """The turn of a draft is in the store already. Whether it says the same, `same` tells."""

    same: bool


Outcome = Seal | TurnThere | StorageError


def entry_of(draft: TraceDraft, cipher: UserCipher) -> Entry:
    """The draft, sealed under its user's key. Raises `UnicodeError` here, and not among others of a batch."""
    turn = draft.turn
    session = draft.session
    "".join((session.user_id, session.session_id, draft.turn_id, draft.trace_id, draft.policy)).encode()
    content = (
        None
        if turn is None
        else cipher.seal(
            TURN_CONTENT, contents_to_json(turn.contents), draft.session.session_id, turn.turn_id
        )
    )
    return Entry(draft, cipher, seal_trace(cipher, draft), content)


def parameters(batch: Sequence[Entry]) -> list[list[Value]]:
    """The columns of a batch, as the arrays of `muniment_append`."""
    return [list(column) for column in zip(*map(_row, batch), strict=True)]


def outcome_of(entry: Entry, row: asyncpg.Record) -> Outcome:
    """What a row of the answer says of its draft."""
    outcome, sequence, previous_hash, record_hash, role, speaker, content = row
    if outcome in _SEALED:
        return Seal(sequence, previous_hash, record_hash)
    if outcome == "compare":
        return TurnThere(_says_the_same(entry, role, speaker, content))
    if outcome == "request_id":
        return RequestIdReused("the request id was used with another body; choose a new one")
    if outcome in ("turn_id", "trace_id"):
        return AlreadyExists(outcome)
    return StorageUnavailable("the database answers an append as another release would")


def _says_the_same(entry: Entry, role: str, speaker: str, content: bytes) -> bool:
    """Whether the stored turn says what the draft's does. The time is left out: a repeat may have been stamped anew."""
    turn = entry.draft.turn
    assert turn is not None, "a turn is compared only where one is kept"
    if (role, speaker) != (turn.role, turn.speaker):
        return False
    said = entry.cipher.open(TURN_CONTENT, content, entry.draft.session.session_id, turn.turn_id)
    return said == contents_to_json(turn.contents)


def _row(entry: Entry) -> tuple[Value, ...]:
    draft, session = entry.draft, entry.draft.session
    return (
        draft.trace_id,
        session.user_id,
        session.session_id,
        draft.turn_id,
        draft.policy,
        to_micros(draft.create_time),
        entry.cipher.fingerprint(draft.body_sha256),
        draft.record,
        entry.content,
        draft.request_id,
        *_turn(entry),
        entry.turn_known,
    )


def _turn(entry: Entry) -> tuple[Value, ...]:
    """The kept turn's id, role, speaker, times and content; all null where none is kept."""
    turn, expires = entry.draft.turn, entry.draft.turn_expire_time
    if turn is None:
        return (None,) * 6
    return (
        turn.turn_id,
        turn.role,
        turn.speaker,
        to_micros(turn.occur_time),
        None if expires is None else to_micros(expires),
        entry.turn_content,
    )
