"""The shared epochs on Redis: the port `SharedEpochs`, one entry per user and one per tenant, each with a script.

An entry is four numbers as text, `first second confirmed stands`: the epochs (facts and archive, or the tenant's and
0), the server's milliseconds at the mark of the confirmation (0: there was none), and 1 where it still stands. What
the scripts do and why is said in `storage.epochs.shared`; epochs are not secret and lie in clear.
"""

from typing import Final, NamedTuple

from assemblers.records import UserRef
from storage.epochs.shared import FRESH_SECONDS, KEPT_SECONDS, Mark, SharedState
from storage.errors import StorageUnavailable
from storage.ports.epochs import Epochs
from storage.redis.client import Pending, RedisClient
from storage.redis.keys import tenant_name, user_name
from storage.redis.replies import Value
from storage.redis.scripts import script

_FRESH_MS: Final = int(FRESH_SECONDS * 1000)
_KEPT_MS: Final = KEPT_SECONDS * 1000

_READ: Final = script("""
local time = redis.call('TIME')
local entry = string.match(redis.call('GET', KEYS[1]) or '', '^%d+ %d+ %d+ %d$')
return time[1] .. ' ' .. time[2] .. ' ' .. (entry or '')
""")

# ARGV: epochs, mark, longest age of a mark, milliseconds to keep it.
_FILL: Final = script("""
local time = redis.call('TIME')
local age = time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[3]
if age < 0 or age >= tonumber(ARGV[4]) then
    return
end
local first, second = tonumber(ARGV[1]), tonumber(ARGV[2])
local entry = redis.call('GET', KEYS[1])
if entry then
    local known_first, known_second, confirmed, stands =
        string.match(entry, '^(%d+) (%d+) (%d+) (%d)$')
    if confirmed then
        known_first, known_second = tonumber(known_first), tonumber(known_second)
        if known_first > first or known_second > second then
            return
        end
        local same = known_first == first and known_second == second
        if same and stands == '1' and tonumber(confirmed) >= tonumber(ARGV[3]) then
            return
        end
    end
end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' 1', 'PX', ARGV[5])
""")

# ARGV: epochs (0: unchanged), milliseconds to keep it.
_ANNOUNCE: Final = script("""
local first, second, confirmed = ARGV[1], ARGV[2], '0'
local entry = redis.call('GET', KEYS[1])
if entry then
    local known_first, known_second, known_confirmed = string.match(entry, '^(%d+) (%d+) (%d+) %d$')
    if known_confirmed then
        local raised = false
        if tonumber(known_first) < tonumber(first) then raised = true else first = known_first end
        if tonumber(known_second) < tonumber(second) then raised = true else second = known_second end
        if not raised then
            return
        end
        confirmed = known_confirmed
    end
end
redis.call('SET', KEYS[1], first .. ' ' .. second .. ' ' .. confirmed .. ' 0', 'PX', ARGV[3])
""")


class _Entry(NamedTuple):
    """What was read of one entry. Milliseconds of its server; `confirmed` is 0 where SQL never confirmed it."""

    now: int
    first: int
    second: int
    confirmed: int
    stands: bool

    @property
    def age(self) -> int:
        return self.now - self.confirmed

    @property
    def is_fresh(self) -> bool:
        # A negative age is a server's clock that went back.
        return self.stands and 0 <= self.age < _FRESH_MS


class RedisEpochs:
    """The shared cache of epochs. Errors are those of `RedisClient.execute`."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    async def read(self, user: UserRef) -> SharedState:
        """What Redis knows, both entries in one round trip."""
        asked_user = self._client.run(_READ, user_name("epochs", user))
        asked_tenant = self._client.run(_READ, tenant_name("epoch", user.tenant_id))
        of_user, of_tenant = _parsed(await asked_user), _parsed(await asked_tenant)
        mark = Mark(of_user.now, of_tenant.now)
        if not (of_user.confirmed and of_tenant.confirmed):
            return SharedState(mark)
        return SharedState(
            mark,
            Epochs(of_user.first, of_user.second, of_tenant.first),
            of_user.is_fresh and of_tenant.is_fresh,
            max(of_user.age, of_tenant.age, 0) / 1000,
        )

    async def fill(self, user: UserRef, epochs: Epochs, mark: Mark, keep_unknown: bool) -> None:
        """Bring what SQL said after the mark."""
        if not (keep_unknown or epochs.facts or epochs.archive):
            return
        user_entry = self._fill(user_name("epochs", user), epochs.facts, epochs.archive, mark.user_ms)
        tenant_entry = self._fill(tenant_name("epoch", user.tenant_id), epochs.tenant, 0, mark.tenant_ms)
        await user_entry
        await tenant_entry

    async def announce_user(self, user: UserRef, facts: int | None, archive: int | None) -> None:
        """The user's epochs are these at least."""
        name = user_name("epochs", user)
        await self._client.run(_ANNOUNCE, name, facts or 0, archive or 0, _KEPT_MS)

    async def announce_tenant(self, tenant_id: str, epoch: int) -> None:
        """The tenant's epoch is this at least."""
        await self._client.run(_ANNOUNCE, tenant_name("epoch", tenant_id), epoch, 0, _KEPT_MS)

    def _fill(self, name: bytes, first: int, second: int, mark: int) -> Pending:
        return self._client.run(_FILL, name, first, second, mark, _FRESH_MS, _KEPT_MS)


def _parsed(reply: Value) -> _Entry:
    """The instant in seconds and microseconds, and the entry's four numbers where there is one."""
    words = reply.split() if isinstance(reply, bytes) else []
    try:
        seconds, micros, *entry = map(int, words)
    except ValueError:
        raise StorageUnavailable("Redis gave no epochs") from None
    now = seconds * 1000 + micros // 1000
    if len(entry) != 4:
        return _Entry(now, 0, 0, 0, stands=False)
    first, second, confirmed, stands = entry
    return _Entry(now, first, second, confirmed, stands=stands == 1)
