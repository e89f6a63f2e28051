"""The session cache of one process: slots with a time to live, and a bound on how many sessions are remembered."""

from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Final

from assemblers.records import SessionRef, Slots
from storage.keys import session_key
from storage.ports import SessionState

MAX_SESSIONS: Final = 100_000


class MemorySessions:
    """The port `SessionCache`. The session touched longest ago gives way first; expiry is checked at each read."""

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        self._max_sessions = max_sessions
        self._sessions: OrderedDict[bytes, SessionState] = OrderedDict()

    async def get(self, session: SessionRef, now: datetime) -> SessionState | None:
        """The session's state unless it has expired."""
        return self._alive(session_key("slots", session), now)

    async def put(
        self, session: SessionRef, slots: Slots, expected_revision: int, now: datetime, ttl_seconds: int
    ) -> bool:
        """Store and touch, if the revision is still the expected one."""
        key = session_key("slots", session)
        current = self._alive(key, now)
        if (current.revision if current else 0) != expected_revision:
            return False
        expires = now + timedelta(seconds=ttl_seconds)
        self._sessions[key] = SessionState(slots, expected_revision + 1, expires)
        self._sessions.move_to_end(key)
        if len(self._sessions) > self._max_sessions:
            self._sessions.popitem(last=False)
        return True

    async def drop(self, session: SessionRef) -> None:
        """Forget the session."""
        self._sessions.pop(session_key("slots", session), None)

    def _alive(self, key: bytes, now: datetime) -> SessionState | None:
        state = self._sessions.get(key)
        if state is not None and state.expire_time is not None and state.expire_time <= now:
            del self._sessions[key]
            return None
        return state
