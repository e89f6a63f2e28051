"""Which server has which key: one server for all, or the masters of a cluster by hash slot.

Any server may turn out to be a cluster's: one that gives a map of slots, or answers MOVED, is. The map is fetched again
when a server does not answer, or answers that slots have moved, but not more often than every `REFRESH_SECONDS`.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from storage.errors import StorageUnavailable
from storage.redis.address import Endpoint
from storage.redis.node import Node
from storage.redis.replies import Value, checked
from storage.redis.wire import Command

REFRESH_SECONDS: Final = 0.25
_SLOTS: Final[Command] = (b"CLUSTER", b"SLOTS")

Range = tuple[int, int, Endpoint]
"""The first and the last slot, and their master."""


class Topology:
    """The servers that are known. Belongs to one event loop."""

    def __init__(
        self, seeds: tuple[Endpoint, ...], make_node: Callable[[Endpoint], Node], is_cluster: bool
    ) -> None:
        self._seeds, self._make_node, self._is_cluster = seeds, make_node, is_cluster
        self._loop = asyncio.get_running_loop()
        self._nodes: dict[Endpoint, Node] = {}
        self._masters: list[Endpoint | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        self._refresh: asyncio.Task[None] | None = None
        self._refreshed = float("-inf")
        self._is_closed = False

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The servers that were used so far and are still there."""
        return tuple(self._nodes.values())

    def find(self, key: bytes) -> Endpoint:
        """The server to ask for the key: the one that has it, or any that will say who has."""
        if self._is_closed:
            raise StorageUnavailable("the client of Redis is closed")
        if not self._is_cluster:
            return self._seeds[0]
        master = self._masters[key_slot(key)]
        if master is None:
            self.suspect()
            return self._anybody()
        return master

    def node(self, endpoint: Endpoint) -> Node:
        """The server that listens there."""
        node = self._nodes.get(endpoint)
        if node is None:
            node = self._nodes[endpoint] = self._make_node(endpoint)
        return node

    def moved(self, slot: int, endpoint: Endpoint) -> None:
        """A server said that another one has the slot."""
        self._is_cluster = True
        self._masters[slot] = endpoint
        self.suspect()

    def suspect(self) -> None:
        """The map of slots may be out of date."""
        is_due = self._loop.time() - self._refreshed >= REFRESH_SECONDS
        if self._is_cluster and is_due and self._refresh is None:
            self._refresh = self._loop.create_task(self.refresh())
            self._refresh.add_done_callback(self._forget_refresh)

    async def refresh(self) -> None:
        """Fetch the map of slots from the first server that gives it; where none does, what is known stays."""
        self._refreshed = self._loop.time()
        for endpoint in dict.fromkeys((*self._nodes, *self._seeds)):
            try:
                answer = checked(await self.node(endpoint).submit(_SLOTS))
            except StorageUnavailable:
                continue
            ranges = slot_ranges(answer, endpoint)
            # A server that knows of no slots was not introduced to the cluster yet, or was thrown out.
            if ranges:
                self._take(ranges)
                await self._let_go()
                return

    async def close(self) -> None:
        """Let go of all servers, for good."""
        self._is_closed = True
        if self._refresh is not None:
            self._refresh.cancel()
        nodes, self._nodes = self._nodes, {}
        for node in nodes.values():
            await node.close()

    def _anybody(self) -> Endpoint:
        """A server that answered lately, if there is one."""
        for endpoint in (*self._nodes, *self._seeds):
            if not self.node(endpoint).is_open:
                return endpoint
        return self._seeds[0]

    def _forget_refresh(self, _task: "asyncio.Task[None]") -> None:
        self._refresh = None

    def _take(self, ranges: list[Range]) -> None:
        self._is_cluster = True
        masters: list[Endpoint | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        for first, last, master in ranges:
            masters[first : last + 1] = [master] * (last - first + 1)
        self._masters = masters

    async def _let_go(self) -> None:
        """Close the servers that have no slots any more."""
        needed = {*self._masters, *self._seeds}
        gone = [endpoint for endpoint in self._nodes if endpoint not in needed]
        for node in [self._nodes.pop(endpoint) for endpoint in gone]:
            await node.close()


def slot_ranges(answer: Value, asked: Endpoint) -> list[Range]:
    """The ranges of slots with their masters out of the reply to CLUSTER SLOTS, which `asked` gave.

    A server that does not know by what name it is reached gives none: then it is the one that was asked by.
    """
    ranges: list[Range] = []
    for entry in answer if isinstance(answer, list) else []:
        match entry:
            case [int(first), int(last), [host, int(port), *_], *_]:
                name = host.decode() if isinstance(host, bytes) else ""
                ranges.append((first, last, Endpoint(name or asked.host, port)))
    return ranges
