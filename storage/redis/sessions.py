"""The session cache that all gateways share: the port `SessionCache` on Redis.

A value is the revision (8 bytes, big-endian), the instant of expiry (16 digits, microseconds since 1970) and the
sealed slots, which are bound to the key, the revision and the expiry. Expiry is decided by the caller's `now`; the
server's own clock only cleans up, a little later, so that a clock that is off cannot take a live session away early
or bring back one that is over.
"""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from assemblers.records import SessionRef, Slots
from storage.ports import SessionState
from storage.redis.client import RedisClient
from storage.redis.keys import session_name
from storage.redis.scripts import script
from storage.redis.sealing import SealedValues, Sealer
from storage.redis.slots_codec import decode_slots, encode_slots
from storage.sql.columns import from_micros, to_micros

_HEADER: Final = 24
_GRACE_MS: Final = 60_000
"""How much longer than its time to live the server keeps a value: gateways' clocks differ."""

# ARGV: expected revision, now, new value, milliseconds to keep it. An expired value counts as none, of revision 0, and
# so does one that has no instant of expiry where it should.
_PUT: Final = script(r"""
local current = redis.call('GET', KEYS[1]) or ''
local expires = tonumber(string.sub(current, 9, 24))
local revision = '\0\0\0\0\0\0\0\0'
if expires and expires > tonumber(ARGV[2]) then
    revision = string.sub(current, 1, 8)
end
if revision ~= ARGV[1] then
    return 0
end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
return 1
""")

# ARGV: the value that could not be read.
_FORGET: Final = script("""
if redis.call('GET', KEYS[1]) == ARGV[1] then
    redis.call('DEL', KEYS[1])
end
""")


class _Header(NamedTuple):
    revision: int
    expires: datetime

    def to_bytes(self) -> bytes:
        return self.revision.to_bytes(8, "big") + b"%016d" % to_micros(self.expires)


class RedisSessions:
    """Slots with a time to live. Errors are those of `RedisClient.execute`."""

    def __init__(self, client: RedisClient, sealer: Sealer) -> None:
        self._client, self._values = client, SealedValues(sealer)

    @property
    def unreadable(self) -> int:
        """How many values could not be opened or read since the start; each counted as no session."""
        return self._values.unreadable

    async def get(self, session: SessionRef, now: datetime) -> SessionState | None:
        """The session's state unless it has expired."""
        name = session_name("slots", session)
        value = await self._client.execute(name, b"GET", name)
        if not isinstance(value, bytes):
            return None
        header = _read_header(value)
        if header is not None and header.expires <= now:
            return None
        place, sealed = name + value[:_HEADER], value[_HEADER:]
        slots = await self._values.open(session.user, place, sealed, decode_slots)
        if slots is None or header is None:
            # It counts as no session, so the first revision of a new one must find its place free.
            await self._client.run(_FORGET, name, value)
            return None
        return SessionState(slots, header.revision, header.expires)

    async def put(
        self, session: SessionRef, slots: Slots, expected_revision: int, now: datetime, ttl_seconds: int
    ) -> bool:
        """Store and touch, if the revision is still the expected one."""
        if expected_revision < 0:
            return False
        name = session_name("slots", session)
        header = _Header(expected_revision + 1, now + timedelta(seconds=ttl_seconds)).to_bytes()
        sealed = await self._values.seal(session.user, name + header, encode_slots(slots))
        stored = await self._client.run(
            _PUT,
            name,
            expected_revision.to_bytes(8, "big"),
            to_micros(now),
            header + sealed,
            ttl_seconds * 1000 + _GRACE_MS,
        )
        return stored == 1

    async def drop(self, session: SessionRef) -> None:
        """Forget the session."""
        name = session_name("slots", session)
        await self._client.execute(name, b"DEL", name)


def _read_header(value: bytes) -> _Header | None:
    digits = value[8:_HEADER]
    if len(digits) < _HEADER - 8 or not digits.isdigit():
        return None
    return _Header(int.from_bytes(value[:8], "big"), from_micros(int(digits)))
