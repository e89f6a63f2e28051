"""Copies of users' facts on Redis, for gateways that have none in memory.

A copy is sealed and says its epoch; whoever takes it compares that with the confirmed one. It lives a minute, which
bounds how old facts can be that are shown as stale while SQL is down.
"""

from typing import Final

from assemblers.records import UserRef
from storage.ports import FactSnapshot
from storage.redis.client import RedisClient
from storage.redis.facts_codec import decode_facts, encode_facts
from storage.redis.keys import user_name
from storage.redis.sealing import SealedValues, Sealer

KEPT_MS: Final = 60_000
MAX_BYTES: Final = 512 * 1024
"""What is longer is not copied: it would hold up the commands that share its connection."""


class RedisFactCopies:
    """One copy per user. Errors are those of `RedisClient.execute`."""

    def __init__(self, client: RedisClient, sealer: Sealer) -> None:
        self._client, self._values = client, SealedValues(sealer)

    @property
    def unreadable(self) -> int:
        """How many copies could not be opened or read since the start; each counted as none."""
        return self._values.unreadable

    async def get(self, user: UserRef) -> FactSnapshot | None:
        """The copy, of whatever epoch."""
        name = user_name("facts", user)
        value = await self._client.execute(name, b"GET", name)
        if not isinstance(value, bytes):
            return None
        return await self._values.open(user, name, value, lambda raw: decode_facts(user, raw))

    async def put(self, user: UserRef, snapshot: FactSnapshot) -> None:
        """Keep a copy for a minute. A user without a key has no facts, and gets none by this."""
        content = encode_facts(snapshot)
        if len(content) > MAX_BYTES:
            return
        name = user_name("facts", user)
        sealed = await self._values.seal_if_known(user, name, content)
        if sealed is not None:
            await self._client.execute(name, b"SET", name, sealed, b"PX", KEPT_MS)
