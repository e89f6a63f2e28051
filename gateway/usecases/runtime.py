"""Clock and identifiers as inputs: the only place where a use case gets the instant and randomness from."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_bytes, token_hex


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return token_hex(16)


def _new_salt() -> bytes:
    return token_bytes(16)


@dataclass(frozen=True, slots=True)
class Runtime:
    """What a use case may know of the world. `now` is UTC; `new_id` gives 32 hex digits, `new_salt` 16 bytes."""

    now: Callable[[], datetime] = _utc_now
    new_id: Callable[[], str] = _new_id
    new_salt: Callable[[], bytes] = _new_salt
