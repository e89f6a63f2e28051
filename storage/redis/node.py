"""One server: its links, the commands that wait for one, the breaker, and the probe that closes it again.

Commands that are submitted within the same turn of the event loop go out as one batch. A batch is carried by a task of
the node's own: a caller that is cancelled takes no reply with it and leaves none behind. A command is given up after
`limit` seconds, whether it waits for a link or for its reply (half as much more where it waited for both); nothing is
sent twice.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final

from redis.exceptions import ReadOnlyError, RedisError

from storage.errors import StorageUnavailable
from storage.redis.breaker import Breaker
from storage.redis.link import Link, LinkBroken
from storage.redis.patience import Call
from storage.redis.wire import Command, Reply

MAX_LINKS: Final = 4
"""While all are busy commands gather into larger batches, which is cheaper for both sides than more connections."""
MAX_BATCH: Final = 256
PROBE_SECONDS: Final = 1.0

Outcome = Reply | StorageUnavailable
"""What became of a command. A failure is a value too: a caller that went away need not fetch it."""


class _Asked:
    """Commands that stand together, and the reply to the last of them."""

    __slots__ = ("commands", "deadline", "outcome")

    def __init__(self, commands: tuple[Command, ...], outcome: "asyncio.Future[Outcome]") -> None:
        self.commands, self.outcome = commands, outcome
        self.deadline = 0.0

    def settle(self, outcome: Outcome) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class Node:
    """A server that commands are submitted to. Belongs to one event loop."""

    def __init__(
        self,
        dial: Callable[[], Link],
        breaker: Breaker,
        limit: float,
        probe_seconds: float = PROBE_SECONDS,
    ) -> None:
        """`dial` gives a new link, not yet connected. `limit` is in seconds."""
        self._dial, self._breaker, self._limit, self._probe_seconds = dial, breaker, limit, probe_seconds
        self._loop = asyncio.get_running_loop()
        self._fresh: list[_Asked] = []
        """Of this turn of the loop."""
        self._waiting: list[_Asked] = []
        """For a link, in the order of their deadlines."""
        self._expiry: Call | None = None
        self._idle: list[Link] = []
        self._links = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._redial_at = 0.0
        self._is_closed = False

    @property
    def is_open(self) -> bool:
        """Whether the breaker is open: commands are refused at once."""
        return self._breaker.is_open

    def submit(self, *commands: Command) -> "asyncio.Future[Outcome]":
        """Have commands executed one after another over one connection; the outcome is that of the last.

        Raises `StorageUnavailable` at once where the breaker is open.
        """
        if self._breaker.is_open or self._is_closed:
            raise StorageUnavailable("Redis did not answer lately, and is not asked until it does")
        call = _Asked(commands, self._loop.create_future())
        if not self._fresh:
            self._loop.call_soon(self._take_fresh)
        self._fresh.append(call)
        return call.outcome

    async def probe(self) -> None:
        """Connect and ask for a sign of life. Raises what the driver raises, or `LinkBroken`."""
        link = self._dial()
        await link.connect()
        # A server that is still loading its data says only that, which counts as no answer.
        await link.exchange([(b"PING",)], self._loop.time() + self._limit)
        self._breaker.succeeded()
        self._links += 1
        self._give_back(link)

    async def close(self) -> None:
        """Give up what waits and what is under way, and let go of all connections."""
        self._is_closed = True
        self._give_up_waiting()
        # A task that is cancelled before it began could not give up its batch.
        await asyncio.sleep(0)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._expiry is not None:
            self._expiry.cancel()
        await self._close_idle()

    def _take_fresh(self) -> None:
        # Their time begins here: that the loop was busy until now is not the server's doing.
        deadline = self._loop.time() + self._limit
        for call in self._fresh:
            call.deadline = deadline
        self._waiting += self._fresh
        self._fresh = []
        self._send_waiting()

    def _send_waiting(self) -> None:
        while self._waiting and self._idle:
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            self._start(self._carry(self._idle.pop(), batch))
        if not self._waiting:
            return
        if self._links < MAX_LINKS:
            self._links += 1
            self._start(self._connect())
        if self._expiry is None:
            self._expiry = Call(self._loop, self._waiting[0].deadline, self._expire)

    def _expire(self) -> None:
        """Give up those that found no link in time."""
        now = self._loop.time()
        late = [call for call in self._waiting if call.deadline <= now]
        self._waiting = self._waiting[len(late) :]
        following = self._waiting[0].deadline if self._waiting else None
        self._expiry = None if following is None else Call(self._loop, following, self._expire)
        if late:
            _give_up(late)
            self._failed()

    async def _connect(self) -> None:
        link = self._dial()
        try:
            await link.connect()
        except (OSError, RedisError):
            self._links -= 1
            self._failed()
            if not self._links:
                self._give_up_waiting()
        except BaseException:
            self._links -= 1
            raise
        else:
            self._give_back(link)

    async def _carry(self, link: Link, batch: list[_Asked]) -> None:
        try:
            if await link.is_usable():
                await self._exchange(link, batch)
                return
            # The server let go of the link while it was idle. Nothing was sent, so the batch may have another.
            self._links -= 1
            await link.close()
            batch, self._waiting = [], batch + self._waiting
            self._send_waiting()
        finally:
            _give_up(batch)

    async def _exchange(self, link: Link, batch: list[_Asked]) -> None:
        commands = [command for call in batch for command in call.commands]
        # Who waited long for a link leaves the server half its time at least.
        deadline = max(batch[0].deadline, self._loop.time() + self._limit / 2)
        try:
            replies = await link.exchange(commands, deadline)
        except LinkBroken:
            self._links -= 1
            _give_up(batch)
            self._failed()
            # What broke one connection has most likely broken the others.
            await self._close_idle()
        except BaseException:
            self._links -= 1
            raise
        else:
            self._breaker.succeeded()
            _settle(batch, replies)
            await self._keep(link, replies)

    async def _keep(self, link: Link, replies: list[Reply]) -> None:
        now = self._loop.time()
        if now >= self._redial_at and any(isinstance(reply, ReadOnlyError) for reply in replies):
            # The server was demoted: only a new connection can find who took its place behind the same name. As often
            # as a probe, or those who only read would wait for one connection after the other.
            self._redial_at = now + self._probe_seconds
            self._links -= 1
            await link.close()
            await self._close_idle()
            self._send_waiting()
        else:
            self._give_back(link)

    def _give_back(self, link: Link) -> None:
        self._idle.append(link)
        self._send_waiting()

    def _failed(self) -> None:
        if self._breaker.failed() and not self._is_closed:
            self._give_up_waiting()
            self._start(self._probe_until_closed())

    def _give_up_waiting(self) -> None:
        given_up = self._waiting + self._fresh
        self._waiting, self._fresh = [], []
        _give_up(given_up)

    async def _probe_until_closed(self) -> None:
        following = self._loop.time()
        while self._breaker.is_open:
            following += self._probe_seconds
            await asyncio.sleep(following - self._loop.time())
            try:
                async with asyncio.timeout(0.9 * self._probe_seconds):
                    await self.probe()
            except (TimeoutError, LinkBroken, OSError, RedisError):
                continue

    async def _close_idle(self) -> None:
        idle, self._idle = self._idle, []
        self._links -= len(idle)
        for link in idle:
            await link.close()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _settle(batch: list[_Asked], replies: list[Reply]) -> None:
    place = 0
    for call in batch:
        place += len(call.commands)
        call.settle(replies[place - 1])


def _give_up(calls: list[_Asked]) -> None:
    """Settle those that are not settled."""
    for call in calls:
        call.settle(StorageUnavailable("Redis does not answer"))
